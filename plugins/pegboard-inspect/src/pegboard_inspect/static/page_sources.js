// What brings tools that come and go: how each source does, what it is, what it said, and what somebody has to accept.

const ERAS = { auto: "as it answers", modern: "without a handshake", legacy: "by a handshake" };
const METHODS = { // what a message of each method has, to begin with
  "tools/list": {}, "tools/call": { name: "", arguments: {} }, "prompts/list": {}, "prompts/get": { name: "", arguments: {} },
  "resources/list": {}, "resources/templates/list": {}, "resources/read": { uri: "" },
  "completion/complete": { ref: { type: "ref/prompt", name: "" }, argument: { name: "", value: "" } },
  "server/discover": {}, ping: {}, "logging/setLevel": { level: "debug" }, "notifications/roots/list_changed": null,
};
const ANSWERS = { // what answers each request, to begin with
  "sampling/createMessage": { role: "assistant", content: { type: "text", text: "" }, model: "by-hand" },
  "elicitation/create": { action: "accept", content: {} }, "roots/list": { roots: [] },
};
const OLD_ROWS = 500; // messages that the page holds; the program keeps more

export default function show(root, board) {
  return board.name ? one(root, board, board.name) : all(root, board);
}

const ago = (seconds) => (seconds < 90 ? `${Math.round(seconds)} s` : seconds < 5400 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`);
const count = (number, word) => `${number.toLocaleString("en")} ${word}${number === 1 ? "" : "s"}`;
const linkTo = (name) => `#/sources/${encodeURIComponent(name)}`;
const clock = (at) => new Date(1000 * at).toLocaleTimeString("en-GB", { hour12: false }) + `.${String(Math.floor((1000 * at) % 1000)).padStart(3, "0")}`;
const isUp = (one) => one.state === "ready" || one.state === "known";
const mark = ({ h }, one) => h("span", { class: `mark ${isUp(one) ? "" : "warn"}` }, one.state);

/** Ask before something is done; true: yes. */
const sure = ({ h, dialog }, title, words, yes) => dialog(title, (done) => [words, h("div", { class: "actions" }, h("button", { type: "button", class: "main", onclick: () => done(true) }, yes), h("button", { type: "button", onclick: () => done(false) }, "Cancel"))]);

/** Draw again when something changed, while the page is looked at; what ends that. */
function following(again) {
  const timer = setInterval(() => document.visibilityState === "visible" && again().catch(() => {}), 1500);
  return () => clearInterval(timer);
}

// -- all of them

async function all(root, board) {
  const { h, text, fill } = board;
  const cards = h("div");
  const lock = h("div");
  let drawn = "";
  root.append(h("h1", {}, "Sources"), cards, lock);

  async function draw() {
    const { sources } = await board.data();
    const now = JSON.stringify(sources.map((one) => ({ ...one, since_s: 0 })));
    for (const since of cards.querySelectorAll("[data-since]")) since.textContent = `for ${ago(sources.find((one) => one.source === since.dataset.since)?.since_s ?? 0)}`;
    if (now === drawn) return;
    const isFirst = !drawn;
    drawn = now;
    const focused = document.activeElement?.closest?.("[data-source]")?.dataset.source;
    fill(cards, sources.length ? sources.map(card) : h("p", { class: "empty" }, "No source of tools is configured; an MCP server is one: [plugins.mcp.servers.NAME]"));
    if (focused) [...cards.querySelectorAll("[data-source]")].find((one) => one.dataset.source === focused)?.querySelector("a")?.focus();
    if (isFirst || !lock.querySelector("details[open], input:checked, .problem:not([hidden])")) await review(lock, board, draw).catch((problem) => fill(lock, text(problem.message, "p", { class: "why", role: "alert" })));
  }

  const card = (one) =>
    h("section", { class: "card", "data-source": one.source },
      h("h2", {}, h("a", { href: linkTo(one.source) }, text(one.source)), " ", mark(board, one)),
      h("p", { class: "quiet" }, [one.kind, one.server && text(one.server), one.protocol && `protocol ${one.protocol}`, h("span", { "data-since": one.source }, `for ${ago(one.since_s)}`), count(one.tools, "tool"), one.offers && (one.offers === 1 ? "1 prompt or resource" : `${one.offers.toLocaleString("en")} prompts and resources`)].filter(Boolean).flatMap((part, index) => (index ? [" · ", part] : [part]))),
      one.reason ? text(one.reason, "p", { class: "why" }) : !isUp(one) && h("p", { class: "quiet" }, one.meaning),
      one.held ? h("p", { class: "why" }, `${count(one.held, "thing")} held back until somebody accepts ${one.held === 1 ? "it" : "them"}; see below`) : null,
      one.location && !one.reason?.startsWith(one.location) && text(one.location, "code", { class: "location" }));

  await draw();
  return following(draw);
}

/** What changed since it was accepted, and accepting it. */
async function review(root, board, after) {
  const { h, text, fill, say } = board;
  const found = await board.act("lock", null);
  if (!found) return;
  const chosen = new Set();
  const accept = h("button", { type: "button", class: "main", disabled: true, onclick: () => take() }, "Accept…");
  const said = h("p", { class: "problem", role: "alert", hidden: true });
  const choose = () => {
    accept.disabled = !chosen.size;
    accept.textContent = chosen.size ? `Accept ${chosen.size}…` : "Accept…";
  };
  const boxes = [];

  function entry(change) {
    const { source, name, state } = change;
    const box = h("input", { type: "checkbox", "aria-label": `Select ${name} of ${source}`, onchange: () => { box.checked ? chosen.add(change) : chosen.delete(change); choose(); } });
    boxes.push([box, change]);
    const body = h("div", { class: "changed" });
    const details = h("details", {},
      h("summary", {}, h("b", {}, change.change), " ", text(name, "b"), change.was && [" (was ", text(change.was), ")"], " of ", text(source), " ", h("span", { class: `mark ${change.kind === "breaking" || change.kind === "unknown" ? "warn" : ""}` }, change.kind)), body);
    details.addEventListener("toggle", async () => {
      if (!details.open || body.childElementCount) return;
      try {
        const { diff } = await board.act("change", { source, name });
        fill(body, change.words ? text(change.words, "p", { class: "why" }) : null, change.reasons.length ? h("ul", {}, change.reasons.map((why) => h("li", {}, h("b", {}, why.kind), ": ", text(why.part), ": ", text(why.words)))) : null, Object.entries(diff).map(([part, lines]) => [h("h3", {}, part.replace("_", " ")), difference(board, part, lines)]));
      } catch (problem) {
        fill(body, text(problem.message, "p", { class: "why", role: "alert" }));
      }
    });
    return h("li", { "data-change": `${source}/${name}` }, box, details);
  }

  async function take() {
    const changes = [...chosen];
    const words = h("div", {}, h("p", {}, found.is_new && changes.every((one) => one.remembered) ? "It is remembered for you, on this machine." : [found.is_new ? "It is written to a new lock, " : "It is written to ", text(found.path, "code"), "."]), h("ul", { class: "names" }, changes.slice(0, 50).map((one) => h("li", {}, text(`${one.change} ${one.name} of ${one.source}`)))), changes.length > 50 && h("p", {}, `and ${changes.length - 50} more`));
    if (!(await sure(board, changes.length === 1 ? "Accept this change?" : `Accept these ${changes.length} changes?`, words, "Accept"))) return;
    accept.disabled = true;
    try {
      const { accepted } = await board.act("accept", changes.map(({ source, name, state }) => ({ source, name, state })));
      say(`${count(accepted, "change")} accepted`);
      await review(root, board, after);
      await after();
    } catch (problem) {
      said.hidden = false;
      said.textContent = problem.hint ? `${problem.message}; ${problem.hint}` : problem.message;
      choose();
    }
  }

  const silent = Object.entries(found.silent);
  const list = h("ul", { class: "changes", "aria-label": "Changes" }, found.changes.map(entry));
  const head = !found.changes.length ? (silent.length ? "All that could be asked is as it was accepted." : "Everything is as it was accepted.") : found.is_new ? `There is no lock yet: nobody accepted ${found.changes.length === 1 ? "it" : `these ${found.changes.length}`}.` : `${count(found.changes.length + found.left_out, "change")} since it was accepted.`;
  fill(root,
    h("section", { class: "card", "aria-labelledby": "lock" },
      h("h2", { id: "lock" }, "What was accepted, and what changed"),
      h("p", {}, head, " ", h("span", { class: "quiet" }, found.holds_back ? "What nobody accepted as it is stays off the board." : "What changed is told of, and stays on the board.")),
      h("p", { class: "quiet" }, "The lock: ", text(found.path, "code")),
      found.untrusted && h("p", { class: "why" }, text(found.untrusted.message), "; ", text(found.untrusted.fix)),
      silent.length ? h("details", {}, h("summary", {}, `${count(silent.length, "source")} could not be asked`), h("ul", {}, silent.map(([name, why]) => h("li", {}, text(name, "b"), ": ", text(why))))) : null,
      said,
      found.changes.length ? [
        h("div", { class: "bar" }, accept, h("button", { type: "button", onclick: () => { const on = chosen.size < boxes.length; for (const [box, change] of boxes) { box.checked = on; on ? chosen.add(change) : chosen.delete(change); } choose(); } }, "Select all or none"), found.left_out ? h("span", { class: "quiet" }, `${found.left_out} more are not listed`) : null),
        found.is_new && found.changes.length > 10 ? h("details", {}, h("summary", {}, `The ${found.changes.length}`), list) : list] : null));
}

/** Lines of a unified diff; those who listen hear which were and which are. */
function difference({ h }, part, lines) {
  const kinds = { "+": ["ins", "added"], "-": ["del", "removed"] };
  const shown = lines.filter((line) => !/^(---|\+\+\+) /.test(line) || lines.length === 1);
  return h("pre", { class: "diff", tabindex: 0, "aria-label": `${part}, before and after` }, shown.map((line) => {
    if (line.startsWith("@@")) return h("span", { class: "gap" }, "⋯\n");
    const [tag, words] = kinds[line[0]] ?? ["span", null];
    return h(tag, { dir: "auto" }, words && h("span", { class: "unseen" }, `${words}: `), `${line}\n`);
  }));
}

// -- one of them

async function one(root, board, name) {
  const { h, text, fill, tree, tabs, paged, say } = board;
  const head = h("div");
  const said = h("p", { class: "problem", role: "alert", hidden: true });
  const report = h("div"); // of a probe: it stays while all around is drawn again
  const leaving = new AbortController();
  const body = h("div");
  let recorded = null; // what shows the messages: it stays what it is while all around is drawn again
  let shown = null;
  let panel = 0;
  fill(root, h("p", {}, h("a", { href: "#/sources" }, "All sources")), head, said, body);

  async function restart(button, question, act = () => board.act("restart", name)) {
    if (!(await sure(board, `Restart ${name}?`, h("p", {}, question ?? "Calls that wait for it fail."), "Restart"))) return draw(true);
    button.disabled = true;
    said.hidden = true;
    try {
      await act();
    } catch (problem) {
      said.hidden = false;
      said.textContent = problem.message;
    }
    await draw(true);
  }

  /** Look at the server as `pegboard probe` does, once the person has said how. */
  async function probe(runsHere) {
    const wait = h("select", { "aria-label": "Watched for" }, [[0, "not watched"], [10, "watched for 10 s"], [60, "watched for a minute"]].map(([seconds, words]) => h("option", { value: seconds, selected: seconds === 10 }, words)));
    const confined = h("input", { type: "checkbox", checked: true });
    const words = h("div", {}, h("p", {}, runsHere ? "It is started anew, three times and beside the one that runs" : "It is connected to anew, three times", ", and asked what it offers, under two names. Nothing of it is called, and nothing that it asks for is given."),
      runsHere && h("p", {}, h("label", { class: "inline" }, confined, " in a sandbox: without your files, your variables, and the network")), h("p", {}, h("label", { class: "inline" }, "Between its first lists and the next ", wait)));
    if (!(await sure(board, `Probe ${name}?`, words, "Probe"))) return;
    fill(report, h("p", { role: "status" }, h("progress", { "aria-label": "Looking at it" }), " Looking at it…"));
    try {
      await board.stream("probe", { source: name, wait_s: Number(wait.value), is_confined: confined.checked }, (found) => fill(report, probed(board, found)), { signal: leaving.signal });
    } catch (problem) {
      if (problem.name !== "AbortError") fill(report, h("div", { class: "problem", role: "alert" }, text(problem.message, "p"), problem.hint && text(problem.hint, "p", { class: "quiet" })));
    }
  }

  const facts = (source) => {
    const { details } = source;
    const version = details.protocol && [details.protocol, h("span", { class: "quiet" }, details.protocol >= "2026-07-28" ? " (without a handshake)" : " (agreed on by a handshake)")];
    const list = [
      ["Reached by", details.location && text(details.location, "code")], ["Transport", details.transport], ["Started", details.starts ? (details.starts === 1 ? "once" : `${details.starts} times: ${count(details.starts - 1, "restart")}`) : null],
      ["Protocol", version], ["It says it is", [details.server.name, details.server.version].filter(Boolean).join(" ") && text([details.server.title ?? details.server.name, details.server.version].filter(Boolean).join(" "))],
      ["Last words", details.last_words && text(details.last_words)],
    ].filter(([, value]) => value);
    return h("div", {}, h("dl", {}, list.map(([label, value]) => [h("dt", {}, label), h("dd", {}, value)])),
      Object.keys(details.status).length ? [h("h2", {}, "How it does"), tree(details.status, { open: 2 })] : null,
      Object.keys(details.capabilities).length ? [h("h2", {}, "Capabilities"), tree(details.capabilities, { open: 3 })] : null,
      details.instructions && [h("h2", {}, "What it tells models"), text(details.instructions, "pre", { class: "text", tabindex: 0 })]);
  };

  const toolList = (source) =>
    h("div", {},
      source.held.length ? [h("h2", {}, "Held back until somebody accepts it"), paged(h("ul"), source.held, (one) => h("li", {}, text(one.name, "b"), ": ", text(one.why), ". ", text(one.fix, "span", { class: "quiet" }))), h("p", {}, h("a", { href: "#/sources" }, "Look at what changed, and accept it"))] : null,
      source.names.length ? paged(h("ul", { class: "names" }), source.names, (tool) => h("li", {}, h("a", { href: `#/tool/${encodeURIComponent(tool)}` }, text(tool)))) : h("p", { class: "empty" }, "No tool of it is on the board."));

  function offers(source) {
    const list = h("ul", { class: "offers" });
    const draw = (words = "") => {
      const fit = source.details.offers.filter((one) => `${one.kind} ${one.name} ${one.title ?? ""} ${one.description}`.toLowerCase().includes(words.toLowerCase()));
      fill(list, fit.slice(0, 300).map((one) => offerEntry(one)), fit.length > 300 && h("li", { class: "quiet" }, `and ${fit.length - 300} more: search for them`));
    };
    draw();
    if (!source.details.offers.length) return h("p", { class: "empty" }, "It has no prompts and no resources, or none that anybody may open.");
    return h("div", {}, source.details.offers.length > 10 && h("div", { class: "bar" }, h("input", { type: "search", "aria-label": "Search prompts and resources", placeholder: "Search", oninput: (event) => draw(event.target.value) })), list);
  }

  function offerEntry(offer) {
    const body = h("div", { class: "opened" });
    const details = h("details", {}, h("summary", {}, h("span", { class: "mark" }, offer.kind), " ", text(offer.title || offer.name, "b"), offer.title && offer.title !== offer.name ? [" ", text(offer.name, "code")] : null, " ", text(offer.mime_type, "span", { class: "quiet" })), body);
    details.addEventListener("toggle", () => details.open && !body.childElementCount && fill(body, opener(offer)));
    return h("li", {}, details);
  }

  function opener(offer) {
    const propose = (argument, value) => proposals(offer, argument, value, form.value());
    const form = offer.input_schema ? board.form(offer.input_schema, undefined, { propose: offer.completes ? propose : null }) : null;
    const answer = h("div", { class: "answer" });
    const button = h("button", { type: "submit", class: "main" }, "Open");
    const open = async (event) => {
      event.preventDefault();
      button.disabled = true;
      fill(answer, h("p", { role: "status" }, h("progress", { "aria-label": "Opening" }), " Opening…"));
      try {
        await board.stream("open", { source: name, kind: offer.kind, name: offer.name, arguments: form ? form.value() : {} }, (result) => {
          fill(answer, board.result(result));
          form?.tell(result.error?.details?.faults ?? []);
        });
      } catch (problem) {
        fill(answer, text(problem.message, "p", { class: "why", role: "alert" }));
      }
      button.disabled = false;
    };
    return [offer.description && text(offer.description, "p", { class: "description" }), h("form", { novalidate: true, onsubmit: open }, form?.element, h("div", { class: "actions" }, button)), answer];
  }

  async function proposals(offer, argument, value, { [argument]: _, ...others }) {
    let found = [];
    await board.stream("complete", { source: name, kind: offer.kind, name: offer.name, argument, value, others }, (proposed) => (found = proposed));
    return found;
  }

  function logLines(source) {
    const lines = source.details.log;
    if (!lines.length) return h("p", { class: "empty" }, "It wrote nothing beside its answers.");
    return h("ol", { class: "log lines", tabindex: 0, "aria-label": "What it wrote last" }, lines.map((line) => h("li", { class: line.direction }, h("time", {}, clock(line.at)), " ", line.direction === "unreadable" && h("b", {}, "no message: "), text(line.text))));
  }

  function messages(source) {
    if (!source.listens) return h("p", { class: "empty" }, "This source tells of no messages.");
    const act = async (event) => {
      await board.act("record", { source: name, on: true });
      await restart(event.target, "Its messages are recorded from then on. Calls that wait for it fail.");
    };
    if (!source.recording) return h("div", { class: "empty" }, h("p", {}, "Messages are recorded from a start of the source on, and nobody asked for that yet."), h("button", { type: "button", onclick: act }, "Record, and restart it"));
    recorded ??= messageView(board, name, source.takes_messages ? new Writer(board, source) : null, async () => {
      await board.act("record", { source: name, on: false });
      recorded.leave();
      recorded = null;
      await draw(true);
    });
    return recorded.element;
  }

  const findings = ({ findings: found, names }) => found.length ? h("section", { "aria-label": "To look at before you trust it" }, h("h2", {}, "To look at before you trust it"), paged(h("ul", { class: "marks" }), found, (one) => h("li", {}, h("b", {}, one.kind), one.tool ? [" in ", text(one.where), " of ", names.includes(one.tool) ? h("a", { href: `#/tool/${encodeURIComponent(one.tool)}` }, text(one.tool)) : text(one.tool)] : [": ", text(one.where)], ": ", text(one.why)))) : null;

  async function draw(again = false) {
    const source = await board.act("source", name);
    fill(head, h("div", { class: "heading" }, h("h1", {}, text(source.source)), mark(board, source)),
      h("p", { class: "quiet" }, `${source.kind}, for ${ago(source.since_s)}: ${source.meaning}`),
      source.reason && text(source.reason, "p", { class: "why" }));
    const now = JSON.stringify({ ...source, since_s: 0, details: { ...source.details, log: 0 } });
    const isBusy = body.contains(document.activeElement) && document.activeElement !== body;
    if (!again && (now === shown || (shown && isBusy))) return;
    shown = now;
    const button = h("button", { type: "button", onclick: () => restart(button) }, "Restart");
    const list = [["About", () => facts(source)], [`Tools (${source.names.length})`, () => toolList(source)], [`Prompts and resources (${source.details.offers.length})`, () => offers(source)], ["Messages", () => messages(source)], ["Log", () => logLines(source)]];
    const box = tabs("About the source", list);
    fill(body, h("div", { class: "actions" }, button, source.can_be_probed && h("button", { type: "button", onclick: () => probe(source.details.transport === "stdio") }, "Probe…"), source.era && eraChoice(source)), report, findings(source), box);
    box.show(panel);
    box.addEventListener("click", () => { panel = [...box.querySelectorAll("[role=tab]")].findIndex((tab) => tab.getAttribute("aria-selected") === "true"); });
  }

  /** How one server that is inspected alone is spoken to. */
  function eraChoice(source) {
    const choice = h("select", { "aria-label": "Protocol", onchange: () => restart(choice, "It is spoken to in that era of the protocol from then on.", () => board.act("speak", { source: name, era: choice.value })) }, Object.entries(ERAS).map(([era, words]) => h("option", { value: era, selected: era === source.era }, words)));
    return h("label", { class: "inline" }, "Protocol ", choice);
  }

  await draw();
  const stop = following(draw);
  return () => {
    stop();
    leaving.abort();
    recorded?.leave();
  };
}

/** What came of a probe: the verdict, what was found, the worst first, and what the server is known by. */
function probed({ h, text, paged }, found) {
  const isBad = ["danger", "warning", "unreachable"].includes(found.verdict);
  const isDanger = found.verdict === "danger";
  const unseen = found.problem && `it could not be looked at: ${found.problem.why}`;
  const words = [isDanger || !unseen ? found.words : null, unseen].filter(Boolean).join("; ");
  return h("section", { class: "card", "aria-label": "What the probe found" }, h("h2", {}, "Probed"),
    h("p", { class: `status ${isBad ? "bad" : "good"}`, role: "status" }, text(words, "b")),
    found.problem && !isDanger && text(found.problem.fix, "p", { class: "quiet" }),
    found.unseen && text(found.unseen, "p", { class: "why" }),
    found.findings.length ? paged(h("ul", { class: "marks" }), found.findings, (one) => h("li", {}, h("b", {}, one.level), ": ", text(one.where), ": ", text(one.what), one.why && [": ", text(one.why)])) : null,
    found.wanted_to_reach.length ? h("p", {}, "It wanted to reach ", text(found.wanted_to_reach.slice(0, 50).join(", "))) : null,
    found.pin && h("p", { class: "quiet" }, "Pin: ", text(found.pin, "code")));
}

/** A message that is written by hand, to one server that is inspected alone, and its answer. */
class Writer {
  constructor(board, source) {
    const { h, text } = board;
    this.board = board;
    this.source = source;
    this.controller = null;
    this.words = h("textarea", { class: "code raw", rows: 8, spellcheck: "false", "aria-label": "Message as JSON", "aria-describedby": "written-fault" });
    this.fault = h("p", { class: "fault", id: "written-fault", role: "alert", hidden: true });
    this.completes = h("input", { type: "checkbox", checked: true });
    this.button = h("button", { type: "submit", class: "main" }, "Send");
    this.cancel = h("button", { type: "button", hidden: true, onclick: () => this.leave() }, "Cancel");
    this.answer = h("div", { class: "answer" });
    const start = h("select", { "aria-label": "Begin with", onchange: () => this.begin(start.value) }, Object.keys(METHODS).map((method) => h("option", {}, method)));
    this.element = h("details", { class: "card writer" }, h("summary", {}, h("b", {}, "Write a message")),
      h("form", { novalidate: true, onsubmit: (event) => { event.preventDefault(); this.send(); } },
        h("div", { class: "bar" }, h("label", { class: "inline" }, "Begin with ", start), h("label", { class: "inline" }, this.completes, " add what the protocol wants in _meta")),
        this.words, this.fault,
        h("p", { class: "quiet" }, "It is sent as it is: no guard stands before it. Without an id it is a notification; an id of the connection's own takes the place of yours."),
        h("div", { class: "actions" }, this.button, this.cancel)),
      this.answer);
    this.begin("tools/list");
  }
  begin(method) {
    const [name = ""] = this.source.names;
    const params = method === "tools/call" ? { name, arguments: {} } : METHODS[method];
    this.take(JSON.stringify({ jsonrpc: "2.0", ...(params && { id: 1 }), method, ...(params && { params }) }, null, 2));
  }
  /** That message, to be changed and sent. */
  take(words) {
    this.words.value = words;
    this.say(null);
  }
  say(words) {
    this.fault.hidden = !words;
    this.fault.textContent = words ?? "";
    this.words.setAttribute("aria-invalid", String(Boolean(words)));
  }
  leave() { this.controller?.abort(); }
  async send() {
    if (this.controller) return;
    const { h, fill, stream } = this.board;
    const { signal } = (this.controller = new AbortController());
    this.say(null);
    this.button.disabled = true;
    this.cancel.hidden = false;
    fill(this.answer, h("p", { role: "status" }, h("progress", { "aria-label": "Waiting for the answer" }), " Waiting for the answer…"));
    try {
      const sent = this.words.value;
      await stream("send", { source: this.source.source, text: sent, completes: this.completes.checked }, (told) => fill(this.answer, this.shown(told, sent)), { signal });
    } catch (problem) {
      fill(this.answer);
      this.say(problem.name === "AbortError" ? "Nobody waits for its answer any more." : problem.message);
    }
    this.controller = null;
    this.button.disabled = false;
    this.cancel.hidden = true;
  }
  shown({ answer, took_ms: took }, sent) {
    const { h, tree, ms } = this.board;
    if (!answer) return h("p", { class: "status good", role: "status" }, h("b", {}, "sent"), ": a notification has no answer");
    const { error } = answer;
    return h("section", { class: "result" }, h("p", { class: `status ${error ? "bad" : "good"}`, role: "status" }, h("b", {}, error ? `error ${error.code}` : "answered"), ` in ${ms(took)}`), tree(error ?? answer.result, { open: 4 }), answer.result?.resultType === "input_required" && h("button", { type: "button", onclick: () => this.again(sent, answer.result) }, "Answer it"));
  }
  /** The same message once more, with a place for what the server asked for. */
  again(sent, { inputRequests = {}, requestState }) {
    const message = this.board.parse(sent);
    const inputResponses = Object.fromEntries(Object.entries(inputRequests ?? {}).map(([key, { method }]) => [key, ANSWERS[method] ?? {}]));
    this.take(JSON.stringify({ ...message, params: { ...message.params, inputResponses, ...(requestState !== undefined && { requestState }) } }, null, 2));
    this.words.focus();
  }
}

/** The messages both ways, as they come; `writer` sends others. */
function messageView(board, name, writer, stopRecording) {
  const { h, text, fill, tree, say, ms } = board;
  const controller = new AbortController();
  const kept = [];
  let paused = false;
  let leftOut = 0;
  const list = h("ol", { class: "messages", "aria-label": "Messages, the newest first" });
  const words = h("input", { type: "search", "aria-label": "Search messages", placeholder: "Search methods and texts", oninput: () => drawAll() });
  const kinds = h("select", { "aria-label": "Which messages", onchange: () => drawAll() }, [["", "All of it"], ["request answer", "Requests and answers"], ["notification", "Notifications"], ["log unreadable", "Log, and what is not a message"], ["error", "Errors"]].map(([value, label]) => h("option", { value }, label)));
  const pause = h("button", { type: "button", "aria-pressed": "false", onclick: () => { paused = !paused; pause.setAttribute("aria-pressed", String(paused)); pause.textContent = paused ? "Go on" : "Pause"; if (!paused) drawAll(); } }, "Pause");
  const note = h("p", { class: "quiet", role: "status" });
  const fits = (row) => (!kinds.value || (kinds.value === "error" ? row.is_error || row.kind === "unreadable" : kinds.value.split(" ").includes(row.kind))) && (!words.value || `${row.method ?? row.answers ?? ""} ${row.text}`.toLowerCase().includes(words.value.toLowerCase()));

  function entry(row) {
    const isSent = row.direction === "sent";
    const title = row.kind === "answer" ? `${row.answers ?? "an answer"}${row.is_error ? ": error" : ""}` : row.kind === "log" ? row.text : row.kind === "unreadable" ? `no message: ${row.text}` : row.method;
    const body = h("div", { class: "inner" });
    const summary = h("summary", {}, h("time", {}, clock(row.at)), h("span", { class: "way", title: isSent ? "sent" : "received" }, h("span", { "aria-hidden": "true" }, row.direction === "log" || row.direction === "unreadable" ? "·" : isSent ? "→" : "←"), h("span", { class: "unseen" }, row.direction)), h("span", { class: "what" }, text(title, row.kind === "request" || row.kind === "notification" ? "b" : "span"), row.id !== null && [" ", text(`#${row.id}`, "span", { class: "quiet" })], row.kind === "notification" && h("span", { class: "quiet" }, " notification")), h("span", { class: "took" }, row.took_ms !== null ? ms(row.took_ms) : ""), h("span", { class: "size quiet" }, `${row.size.toLocaleString("en")} chars`));
    const details = h("details", { class: `message kind-${row.kind} ${row.is_error || row.kind === "unreadable" ? "failed" : ""}` }, summary, body);
    details.addEventListener("toggle", () => details.open && !body.childElementCount && fill(body, whole(row)));
    return h("li", { "data-seq": row.seq }, details);
  }
  function whole(row) {
    const copy = h("button", { type: "button", onclick: () => navigator.clipboard.writeText(row.text).then(() => say("Copied"), () => say("The browser would not copy it")) }, "Copy");
    try {
      const isOwn = writer && row.direction === "sent" && row.method;
      const again = isOwn && h("button", { type: "button", onclick: () => { writer.take(JSON.stringify(JSON.parse(row.text), null, 2)); writer.element.open = true; writer.words.focus(); } }, "Edit and send");
      return [tree(JSON.parse(row.text), { open: 4 }), h("div", { class: "actions" }, copy, again)];
    } catch {
      return [row.text.length < row.size && h("p", { class: "quiet" }, `The first ${row.text.length.toLocaleString("en")} of ${row.size.toLocaleString("en")} characters:`), text(row.text, "pre", { class: "text", tabindex: 0 }), copy];
    }
  }
  function drawAll() {
    fill(list, kept.filter(fits).reverse().map(entry));
    tell();
  }
  function tell() {
    const isEmpty = !list.childElementCount;
    note.textContent = [paused && "Paused.", isEmpty && (kept.length ? "No message fits." : "Nothing was said yet."), leftOut && `${leftOut.toLocaleString("en")} messages came faster than they can be shown, or long ago; they are left out.`].filter(Boolean).join(" ");
  }
  async function hear({ messages, left_out: missed }) {
    leftOut = missed;
    kept.push(...messages);
    kept.splice(0, Math.max(0, kept.length - OLD_ROWS));
    if (paused) return tell();
    list.prepend(...messages.filter(fits).reverse().map(entry));
    while (list.childElementCount > OLD_ROWS) list.lastElementChild.remove();
    tell();
  }
  function save() {
    const lines = kept.map((row) => JSON.stringify({ at: row.at, direction: row.direction, took_ms: row.took_ms, message: row.text })).join("\n");
    const url = URL.createObjectURL(new Blob([`${lines}\n`], { type: "application/octet-stream" }));
    h("a", { href: url, download: "messages.jsonl" }).click();
    setTimeout(() => URL.revokeObjectURL(url), 10000);
  }
  board.stream("messages", name, hear, { signal: controller.signal }).catch((problem) => {
    if (problem.name !== "AbortError") note.textContent = problem.message;
  });
  const clear = async () => {
    await board.act("clear", name);
    kept.length = 0;
    drawAll();
  };
  return {
    element: h("div", {}, writer?.element, h("div", { class: "bar" }, words, kinds, pause, h("button", { type: "button", onclick: clear }, "Clear"), h("button", { type: "button", onclick: save }, "Save"), h("button", { type: "button", onclick: stopRecording }, "Stop recording")), note, list),
    leave: () => { controller.abort(); writer?.leave(); },
  };
}
