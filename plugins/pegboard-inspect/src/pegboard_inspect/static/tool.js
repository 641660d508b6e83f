// One tool: what a model reads of it, what holds for its calls, and a form that calls it.

import { call, check, get } from "./api.js";
import { asking } from "./asking.js";
import { WAYS } from "./copy.js";
import { dialog, fill, h, question, say, tabs, text, tree } from "./dom.js";
import { resultView } from "./results.js";
import { Written } from "./written.js";

const drafts = new Map(); // what was filled in, by tool, as long as the page lives

export async function show(root, { name, query }) {
  const tool = await get(`tool?name=${encodeURIComponent(name)}`);
  const caller = new Caller(tool);
  const given = query.get("arguments");
  if (given !== null) caller.take(given);
  else if (drafts.has(name)) caller.take(drafts.get(name));
  const off = tool.state !== "ready" && tool.state !== "known";
  fill(root, h("p", {}, h("a", { href: "#/tools" }, "← All tools")),
    h("h1", {}, text(tool.name)),
    tool.title && tool.title !== tool.name && text(tool.title, "p", { class: "title" }),
    off && h("p", { class: "why" }, h("b", {}, tool.state), ": ", text(tool.why ?? "")),
    tool.marks.length ? h("ul", { class: "marks", "aria-label": "To look at before a model reads it" }, tool.marks.map((mark) => h("li", {}, h("b", {}, mark.kind), ` in ${mark.where}: `, text(mark.why)))) : null,
    text(tool.description, "p", { class: "description" }),
    h("div", { class: "columns" }, caller.element, h("aside", {}, tabs("About the tool", [["Rules", () => rules(tool)], ["Schemas", () => schemas(tool)], ["Models see", () => dialects(tool)]]))));
  return () => {
    caller.leave();
    drafts.set(name, caller.json());
  };
}

class Caller {
  constructor(tool) {
    this.tool = tool;
    this.controller = null;
    this.written = new Written(tool.input_schema ?? { type: "object" });
    this.form = this.written.form;
    this.answer = h("div", { class: "answer" });
    this.callButton = h("button", { type: "submit", class: "main" }, "Call");
    this.cancelButton = h("button", { type: "button", hidden: true, onclick: () => this.leave() }, "Cancel");
    const dry = h("button", { type: "button", onclick: () => this.dryRun() }, "Dry run");
    const ways = h("select", { "aria-label": "Copy as", onchange: () => { this.copy(ways.value); ways.value = ""; } }, h("option", { value: "" }, "Copy as…"), Object.keys(WAYS).map((way) => h("option", { value: way }, way)));
    const form = h("form", { novalidate: true, onsubmit: (event) => { event.preventDefault(); this.call(); }, onkeydown: (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); this.call(); } } },
      this.written.element, h("div", { class: "actions" }, this.callButton, dry, this.cancelButton, ways, h("span", { class: "quiet hint" }, "Ctrl+Enter calls")));
    const examples = tool.examples?.length ? h("p", { class: "examples" }, "Examples: ", tool.examples.map((one, index) => h("button", { type: "button", class: "chip", onclick: () => this.take(JSON.stringify(one.arguments)) }, text(one.description || JSON.stringify(one.arguments) || `example ${index + 1}`)))) : null;
    this.element = h("section", { class: "caller", "aria-label": "Call it" }, examples, form, this.answer);
  }
  take(json) { this.written.take(json); }
  json() { return this.written.json(); }
  ready() { return this.written.ready(); }
  async copy(way) {
    if (!way || !this.ready()) return;
    const words = WAYS[way](this.tool.name, this.form.json(), this.form.value());
    try {
      await navigator.clipboard.writeText(words);
      say(`Copied as ${way}`);
    } catch {
      dialog(`As ${way}`, (done) => [h("textarea", { class: "code", rows: 8, readonly: true, value: words, "aria-label": `As ${way}` }), h("button", { type: "button", onclick: () => done(null) }, "Close")]);
    }
  }
  faultsOf(result) {
    const faults = result.error?.details?.faults ?? [];
    this.form.tell(faults);
  }
  async dryRun() {
    if (!this.ready()) return;
    try {
      const result = await check(this.tool.name, this.form.json());
      const words = result.error ? [h("p", { class: "status bad" }, h("b", {}, `It would be refused: ${result.error.code}`)), text(result.error.message, "p", { class: "message" })]
        : foreseen(result.data ?? {});
      fill(this.answer, h("section", { class: "result", role: "status" }, words));
      this.faultsOf(result);
    } catch (problem) { this.failed(problem); }
  }
  failed(problem) {
    if (problem.name === "AbortError") return;
    fill(this.answer, h("section", { class: "result", role: "alert" }, h("p", { class: "status bad" }, h("b", {}, "The call was not made")), text(problem.message, "p"), problem.hint && text(problem.hint, "p", { class: "quiet" })));
  }
  leave() { this.controller?.abort(); }
  async call() {
    if (this.controller || !this.ready()) return;
    const controller = (this.controller = new AbortController());
    const bar = h("progress", { "aria-label": "Progress" });
    const said = h("span", { class: "quiet" }, "Calling…");
    const lines = h("ol", { class: "log", "aria-label": "Log lines", hidden: true });
    const ask = asking(controller.signal);
    let ended = false;
    fill(this.answer, h("section", { class: "result running" }, h("p", { class: "status", role: "status" }, bar, " ", said), lines));
    this.callButton.disabled = true;
    this.cancelButton.hidden = false;
    const hear = (one) => {
      ask(one);
      if (one.kind === "progress") {
        if (one.total) Object.assign(bar, { max: one.total, value: one.done });
        said.textContent = one.message ?? `${one.done}${one.total ? ` of ${one.total}` : ""}`;
      }
      if (one.kind === "log") {
        lines.hidden = false;
        lines.append(h("li", { class: one.level }, h("b", {}, one.level), " ", text(one.text)));
        if (lines.childElementCount > 500) lines.firstElementChild.remove();
      }
      if (one.kind === "result") {
        ended = true;
        const log = lines.hidden ? null : h("details", {}, h("summary", {}, `${lines.childElementCount} log lines`), lines);
        fill(this.answer, resultView(one.result, { readOn: (cut) => this.readOn(cut, 2) }), log);
        this.faultsOf(one.result);
      }
    };
    try {
      await call(this.tool.name, this.form.json(), hear, controller.signal);
      if (!ended) throw new Error("the program ended the call without an answer");
    } catch (problem) {
      if (problem.name === "AbortError") fill(this.answer, h("section", { class: "result" }, h("p", { class: "status bad", role: "status" }, h("b", {}, "cancelled"))));
      else this.failed(problem);
    } finally {
      this.controller = null;
      this.callButton.disabled = false;
      this.cancelButton.hidden = true;
    }
  }
  readOn(cut, page) {
    call("read_result", JSON.stringify({ id: cut.id, page }), (one) => {
      if (one.kind !== "result") return;
      this.answer.append(resultView(one.result));
      if (page < cut.pages && !one.result.error) this.answer.append(h("button", { type: "button", onclick: (event) => { event.target.remove(); this.readOn(cut, page + 1); } }, `Read page ${page + 1} of ${cut.pages}`));
    });
  }
}

/** What a dry run found: what would be asked, and what would refuse. */
function foreseen({ would_run: runs, asks = [] }) {
  const isAsked = (ask) => ask.says.startsWith("asks: ");
  const does = (ask) => (ask.code ? "refuses" : ask.would_be ? "would refuse, and observes alone" : isAsked(ask) ? "asks a person" : "says");
  return [
    h("p", { class: `status ${runs ? "good" : "bad"}` }, h("b", {}, !runs ? "It would be refused." : asks.some(isAsked) ? "It would run if a person says yes." : "It would run.")),
    asks.length ? h("ul", { class: "asks" }, asks.map((ask) => h("li", { class: ask.code ? "refuses" : null }, text(ask.guard, "b"), ` at ${ask.stage} `, h("span", { class: ask.code ? "bad" : "quiet" }, does(ask)), ":", question(isAsked(ask) ? ask.says.slice(6) : ask.says)))) : h("p", { class: "quiet" }, "Nobody would be asked, and no limit is in its way."),
  ];
}

const capital = (name) => name[0].toUpperCase() + name.slice(1).replaceAll("_", " ");

function rules(tool) {
  const facts = [
    ["Category", tool.category], ["Tags", tool.tags?.join(", ")], ["From", [tool.origin.source, tool.origin.distribution ?? tool.origin.plugin ?? "the program"].filter(Boolean).join(" of ")],
    ["Version", tool.version], ["Runs", { async: "in the loop", inplace: "in place", thread: "in a thread", process: "in a worker process" }[tool.run]], ["Deadline", `${tool.timeout_s} s`],
    ...Object.entries(tool.limits).filter(([name]) => name !== "timeout_s").map(([name, value]) => [capital(name), value === true ? "yes" : String(value)]),
    ["Secrets", tool.secrets.join(", ")], ["Says of itself", Object.entries(tool.annotations ?? {}).filter(([, value]) => value === true).map(([name]) => name.replaceAll("_", " ")).join(", ")], ["Fingerprint", tool.fingerprint],
  ].filter(([, value]) => value);
  return h("div", {}, h("dl", {}, facts.map(([name, value]) => [h("dt", {}, name), text(value, "dd")])),
    h("h2", {}, "Guards, in the order they are asked"),
    tool.guards.length ? h("ol", { class: "guards" }, tool.guards.map((one) => h("li", {}, text(one.name, "b"), " ", h("span", { class: "quiet" }, `at ${one.stage}${one.mode === "observe" ? ", observes alone" : ""}`)))) : h("p", { class: "quiet" }, "None: every call that fits the schema runs."));
}

function schemas(tool) {
  return h("div", {}, h("h2", {}, "Arguments"), tree(tool.input_schema ?? {}, { open: 3 }), h("h2", {}, "Result"), tool.output_schema ? tree(tool.output_schema, { open: 3 }) : h("p", { class: "quiet" }, "It does not say."));
}

function dialects(tool) {
  return h("div", {}, tool.dialects.map((one) => h("details", { class: "dialect" }, h("summary", {}, h("b", {}, one.dialect), one.problem ? h("span", { class: "bad" }, " cannot show it") : [` ${one.tokens.toLocaleString("en")} tokens`, one.losses.length ? h("span", { class: "warn" }, ` · ${one.losses.length} ${one.losses.length === 1 ? "loss" : "losses"}`) : null]),
    one.problem ? text(one.problem, "p") : [one.alias !== tool.name && h("p", {}, "Named ", text(one.alias, "code")), one.losses.length ? h("ul", {}, one.losses.map((loss) => h("li", {}, text(loss.path, "code"), " ", text(loss.what)))) : null, typeof one.definition === "string" ? text(one.definition, "pre", { class: "text" }) : tree(one.definition, { open: 2 })])));
}
