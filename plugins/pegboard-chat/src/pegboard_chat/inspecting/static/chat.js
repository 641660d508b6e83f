// A conversation with a model: what is said as it is written, calls folded below it, what it costs; and that of the terminal.

const BUDGETS = { max_tool_calls: "calls", max_rounds: "requests", max_tokens: "tokens", max_seconds: "seconds", max_cost: "cost" };
const ENDED = {
  max_tool_calls: "All the calls that a question may make are made, so the model answered with what it knew.",
  max_rounds: "All the requests that a question may take are taken, so the model answered with what it knew.",
  max_tokens: "All the tokens that a question may cost are spent, so the model answered with what it knew.",
  max_seconds: "The time that a question may take is over, so the model answered with what it knew.",
  max_cost: "What a question may cost is spent, so the model answered with what it knew.",
  tool_choice: "The model did not call what it had to call.",
};
const STOPS = { length: "The answer is cut: the model may write no more at once.", refused: "The model, or its provider, refused to answer." };
const CUTS = { left: "stopped", length: "the model may write no more at once", max_seconds: "its time was over" };
const OUTCOMES = { ok: "done", cancelled: "cancelled", running: "running…", waiting: "waits" };
const PATIENCE_MS = 60;
const PICTURES = /^image\/(png|jpeg|gif|webp|avif|bmp)$/;
const MAX_ATTACHED = 8; // as pegboard_chat.inspecting.question has it
const MAX_BYTES = 4 * 1024 * 1024; // as pegboard_chat.attachments has it
const FOLDED = 1000; // a longer text of a question is folded, in characters

/** A block of a question: a text as it is, a picture as one, others by their name. */
function shownBlock(one) {
  const { h, text } = board;
  if (one.type === "text") {
    const words = text(one.text, "p", { class: "question-text" });
    return one.text.length <= FOLDED ? words : h("details", {}, h("summary", {}, text(one.text.slice(0, 80).split("\n")[0])), words);
  }
  if (one.type === "image" && PICTURES.test(one.mimeType)) return h("img", { class: "attached-image", alt: `An image of type ${one.mimeType}`, src: `data:${one.mimeType};base64,${one.data}` });
  return text(`[${one.name ?? one.resource?.name ?? one.mimeType ?? one.resource?.mimeType ?? one.type}]`, "p", { class: "quiet" });
}

/** A file as it is sent, and as it is shown meanwhile. */
async function fileOf(file) {
  const url = await new Promise((resolve, reject) => Object.assign(new FileReader(), { onload() { resolve(this.result); }, onerror: () => reject(this.error) }).readAsDataURL(file));
  const data = url.slice(url.indexOf(",") + 1);
  const block = PICTURES.test(file.type) ? { type: "image", mimeType: file.type, data } : { type: "file", name: file.name };
  return { name: file.name || `image.${file.type.split("/")[1] ?? "bin"}`, data, block };
}

let board; // of the page that is shown
let page = null; // kept while other pages are shown, so that an answer goes on

export default async function show(root, given) {
  board = given;
  const about = await board.data();
  page ??= about.is_watched ? new Terminal() : new Page(about);
  await page.show(root, about);
}

const number = (value) => Number(value).toLocaleString("en");
const plural = (count, what) => `${number(count)} ${what}${Number(count) === 1 ? "" : "s"}`;
const money = (cost, currency) => (cost === null || cost === undefined ? "price not known" : Number(cost) ? `${Number(Number(cost).toPrecision(4))} ${currency}` : "free");
const spent = (usage, cost, currency) => [`${plural(usage.input_tokens, "token")} read`, usage.cached_tokens && `${number(usage.cached_tokens)} of them cached`, `${number(usage.output_tokens)} written`, money(cost, currency)].filter(Boolean).join(", ");
const isObject = (value) => value !== null && typeof value === "object";

/** One call: its name and how it went in a line, and below it, once it is opened, arguments, result, and calls it made. */
class Call {
  constructor({ id, name, arguments: args }, thread) {
    Object.assign(this, { id, name, args, thread, result: null, outcome: thread.outcomes.get(id), state: "waiting", progress: null });
    this.summary = board.h("summary");
    this.body = board.h("div", { class: "inside-call" });
    this.details = board.h("details", { class: "step", ontoggle: () => this.drawBody() }, this.summary, this.body);
    this.element = board.h("li", { class: "called" }, this.details);
    this.draw();
  }
  take(more) {
    Object.assign(this, more);
    this.draw();
  }
  /** The calls that a call made, those that they made below them. */
  nested(id, depth = 0) {
    const { h, text, waterfall, ms } = board;
    return (depth < 16 ? this.thread.below.get(id) ?? [] : []).flatMap((one) => [
      h("li", {}, text(`${"\u00a0\u00a0".repeat(depth)}↳ ${one.name ?? "not a call"}`, "span", { class: "tool" }), h("span", { class: `outcome ${one.status}` }, one.error ?? OUTCOMES[one.status]), waterfall(one), h("span", { class: "took" }, ms(one.duration_ms))),
      ...this.nested(one.id, depth + 1)]);
  }
  draw() {
    const { h, text, fill, waterfall, ms } = board;
    const error = this.result?.error;
    const state = this.result ? (error ? error.code : "done") : this.state;
    const took = this.outcome?.duration_ms ?? this.result?.duration_ms;
    this.details.className = `step ${error ? "error" : this.result ? "ok" : "under-way"}`;
    fill(this.summary, text(this.name, "span", { class: "tool" }), h("span", { class: `outcome ${error ? "error" : this.result ? "ok" : ""}` }, OUTCOMES[state] ?? state),
      this.outcome ? waterfall(this.outcome) : this.progress ? text(this.progress, "span", { class: "quiet progress" }) : h("span"), h("span", { class: "took" }, this.result ? ms(Number(took)) : ""));
    this.drawBody();
  }
  drawBody() {
    if (!this.details.open) return;
    const { h, text, fill, tree, result, ms } = board;
    const nested = this.nested(this.id);
    fill(this.body, isObject(this.args) && [h("h3", {}, "Arguments"), tree(this.args, { open: 2 })],
      this.result ? [h("h3", {}, "Result"), result(this.result)] : h("p", { class: "quiet" }, this.state === "waiting" ? "It has not begun." : "It runs."),
      this.outcome && [h("h3", {}, "Stages"), h("ul", { class: "stages" }, Object.entries(this.outcome.timings).filter(([, us]) => us).map(([stage, us]) => h("li", {}, h("span", { class: `swatch stage-${stage}` }), `${stage} ${ms(us / 1000)}`))),
        this.outcome.guards.length ? board.guards(this.outcome) : null],
      nested.length ? [h("h3", {}, "Calls that it made"), h("ul", { class: "nested" }, nested)] : null,
      h("p", {}, h("a", { href: `#/tool/${encodeURIComponent(this.name)}?arguments=${encodeURIComponent(JSON.stringify(this.args ?? {}))}` }, "Call again by hand")));
  }
}

/** A text that grows: drawn anew at most a few times a second, and the longer it is the more seldom. */
class Growing {
  constructor(draw) {
    Object.assign(this, { text: "", draw, timer: null, took: 0 });
  }
  add(piece) {
    this.text += piece;
    this.timer ??= setTimeout(() => this.end(), Math.max(PATIENCE_MS, this.took * 5));
  }
  end() {
    clearTimeout(this.timer);
    this.timer = null;
    const began = performance.now();
    this.draw(this.text);
    this.took = performance.now() - began;
  }
}

/** A conversation as a list that is told events. */
class Thread {
  constructor(label) {
    this.label = label;
    this.list = board.h("ol", { class: "talk", "aria-label": label });
    this.reset();
  }
  reset() {
    this.calls = new Map();
    this.outcomes = new Map(); // by id: they may be told before their calls
    this.below = new Map(); // of calls that a call made, by its id
    this.answer = this.thought = null;
    this.begun = null;
    board.fill(this.list);
  }
  get isEmpty() { return !this.list.childElementCount; }
  add(who, ...children) {
    const { h } = board;
    const item = h("li", { class: who.toLowerCase() }, h("h2", { class: who === "You" || who === "Model" ? "who" : "unseen" }, who), children);
    this.near(() => this.list.append(item));
    return item;
  }
  /** Do something; whoever read the end of the page reads the end of it afterwards. */
  near(act) {
    const top = document.documentElement;
    const isNear = top.scrollHeight - top.scrollTop - top.clientHeight < 120;
    act();
    if (isNear) this.toEnd();
  }
  toEnd() {
    if (this.list.isConnected) document.documentElement.scrollTop = document.documentElement.scrollHeight;
  }
  note(words, kind = "quiet") {
    return this.add("Note", board.text(words, "p", { class: kind }));
  }
  asked(words, attached = []) {
    return this.add("You", this.blocks([{ type: "text", text: words }, ...attached.map((one) => one.block)]));
  }
  growing(kind) {
    const { h, fill } = board;
    const box = h("div", { class: "answer-text" });
    if (kind === "thought") {
      this.add("Thinking", h("details", { class: "thinking" }, h("summary", {}, "Thinking"), box));
      return new Growing((words) => fill(box, board.text(words, "p", { class: "plain" })));
    }
    this.add("Model", box);
    return new Growing((words) => this.near(() => fill(box, board.markdown(words))));
  }
  close() {
    this.answer?.end();
    this.thought?.end();
    this.answer = this.thought = null;
  }
  called(call) {
    const known = this.calls.get(call.id);
    if (known) return known;
    const made = new Call(call, this);
    this.calls.set(call.id, made);
    const last = this.list.lastElementChild;
    const steps = last?.classList.contains("calls-made") ? last.querySelector("ul") : this.add("Calls-made", board.h("ul", { class: "steps" })).querySelector("ul");
    this.near(() => steps.append(made.element));
    return made;
  }
  blocks(content) {
    return content.map(shownBlock);
  }
  message(one) {
    if (one.role === "user") this.add("You", this.blocks(one.content ?? []));
    const words = (one.content ?? []).filter((block) => block.type === "text").map((block) => block.text).join("");
    if (one.role === "assistant" && words) this.add("Model", board.h("div", { class: "answer-text" }, board.markdown(words)));
    if (one.cut) this.note(`This answer is cut: ${CUTS[one.cut] ?? "it ended before its end"}.`, "why");
    for (const call of one.calls ?? []) this.called(call);
    for (const result of one.results ?? []) this.called(result).take({ result });
  }
  /** What happens next. */
  take(event) {
    const handler = this[`on_${event.type}`];
    handler?.call(this, event);
  }
  on_conversation({ conversation }) {
    this.close();
    this.reset();
    if (conversation.system) this.add("System", board.h("details", {}, board.h("summary", {}, "What the model is told first"), board.text(conversation.system, "p", { class: "plain" })));
    conversation.messages.forEach((one) => this.message(one));
  }
  on_asked({ content }) { this.add("You", this.blocks(content)); }
  on_begun(event) { this.begun = event; }
  on_text({ text }) {
    this.thought?.end();
    this.thought = null;
    (this.answer ??= this.growing("answer")).add(text);
  }
  on_thinking({ text }) {
    this.answer?.end();
    this.answer = null;
    (this.thought ??= this.growing("thought")).add(text);
  }
  on_round({ calls }) {
    this.close();
    calls.forEach((one) => this.called(one));
  }
  on_call({ id, name, arguments: args }) {
    this.called({ id, name, arguments: args }).take({ name, args, state: "running" });
  }
  on_result(event) { this.called(event).take({ result: event, name: event.name }); }
  on_outcome(event) {
    if (event.parent_id !== null) this.below.set(event.parent_id, [...(this.below.get(event.parent_id) ?? []), event]);
    else this.outcomes.set(event.id, event);
    this.calls.get(event.id)?.take({ outcome: event });
  }
  on_cut({ reason }) {
    this.close();
    this.note(`This answer is cut: ${CUTS[reason] ?? "it ended before its end"}. What came of it is kept.`, "why");
  }
  on_end({ text, stop, reason, usage, cost }) {
    this.close();
    if (reason) this.note(ENDED[reason] ?? reason, "why");
    if (STOPS[stop]) this.note(STOPS[stop], "why");
    else if (!text && !reason) this.note("The model said nothing.", "why");
    this.note(spent(usage, cost, this.begun?.currency), "quiet spent");
  }
  on_problem({ problem }) {
    this.close();
    this.note(problem, "bad");
  }
}

/** The conversation at the terminal of `pegboard chat --inspect`, which is looked on. */
class Terminal {
  constructor() {
    this.thread = new Thread("The conversation at the terminal");
    this.status = board.h("p", { class: "quiet", role: "status" });
  }
  async show(root) {
    board.fill(root, board.h("h1", {}, "Chat"), this.status, this.thread.list);
    if (!this.watching) this.watch();
  }
  async watch() {
    this.watching = true;
    try {
      await board.stream("watch", null, (event) => {
        this.thread.take(event);
        this.status.textContent = this.thread.isEmpty ? "Nothing was said yet. What is asked at the terminal is seen here as it happens." : "What is asked at the terminal is seen here as it happens.";
      });
    } catch (problem) {
      this.status.textContent = `The program does not answer any more: ${problem.message}. What was said stays here until this page is left.`;
    }
  }
}

class Page {
  constructor(about) {
    const { h } = board;
    this.thread = new Thread("Conversation");
    this.controller = null;
    this.budget = {};
    this.isOpen = false;
    this.words = h("textarea", { id: "chat-words", rows: 2, "aria-label": "Your question", placeholder: "Ask something", onkeydown: (event) => this.key(event), onpaste: (event) => this.paste(event) });
    this.send = h("button", { type: "submit", class: "main" }, "Send");
    this.stop = h("button", { type: "button", hidden: true, onclick: () => this.controller?.abort() }, "Stop");
    this.again = h("button", { type: "button", hidden: true, onclick: () => this.ask(null) }, "Ask again");
    this.attached = [];
    this.chosen = h("input", { type: "file", multiple: true, hidden: true, "aria-label": "Files to attach", onchange: () => { this.attach([...this.chosen.files]); this.chosen.value = ""; } });
    this.files = h("ul", { class: "attached", "aria-label": "Attached", hidden: true });
    this.status = h("p", { class: "count", role: "status" });
    this.totals = h("p", { class: "count totals" });
    this.drawModels(about);
    this.drawBudgets(about.budget);
    this.form = h("form", { class: "composer", "aria-label": "Ask", onsubmit: (event) => { event.preventDefault(); this.ask(this.words.value); } },
      this.words, this.files, this.chosen,
      h("div", { class: "actions" }, this.send, this.stop, this.again, h("button", { type: "button", onclick: () => this.chosen.click() }, "Attach…"), this.models, this.budgets),
      this.missing, this.status);
    this.bar = h("div", { class: "bar" },
      h("button", { type: "button", onclick: () => this.begin(null) }, "New"),
      h("button", { type: "button", onclick: () => this.file.click() }, "Open…"),
      h("button", { type: "button", onclick: () => this.save() }, "Save"), this.totals);
    this.file = h("input", { type: "file", accept: ".json,application/json", hidden: true, "aria-label": "A saved conversation", onchange: () => this.openFile() });
    this.empty = h("div", { class: "empty-talk" });
  }

  async show(root, about) {
    const { h, fill } = board;
    this.about = about;
    fill(root, h("h1", {}, "Chat"), this.bar, this.file, this.empty, this.thread.list, this.form);
    this.drawEmpty();
    if (!this.isOpen) {
      this.isOpen = true;
      await board.stream("open", null, (event) => this.hear(event));
      this.drawEmpty();
    }
  }

  // -- what can be chosen

  drawModels(about) {
    const { h, text } = board;
    const [provider, ...model] = (about.model ?? "").split(":");
    this.provider = h("select", { "aria-label": "Provider of models", onchange: () => this.chooseProvider() },
      !about.model && h("option", { value: "" }, "Choose a provider…"), about.providers.map((one) => h("option", { value: one.name }, one.name + (one.missing ? " (not set up)" : ""))));
    this.provider.value = provider;
    this.names = h("datalist", { id: "chat-models" });
    this.model = h("input", { type: "text", list: "chat-models", "aria-label": "Model", spellcheck: "false", autocomplete: "off", value: model.join(":"), onfocus: () => this.listModels() });
    this.missing = text("", "p", { class: "why", hidden: true });
    this.models = h("span", { class: "models" }, this.provider, this.model, this.names);
    this.listed = null;
    this.chooseProvider(false, about);
  }

  chooseProvider(isNew = true, about = this.about) {
    const one = about.providers.find((other) => other.name === this.provider.value);
    if (isNew) this.model.value = "";
    this.model.placeholder = one?.default_model ?? "model";
    this.missing.hidden = !one?.missing;
    this.missing.textContent = one?.missing ? `${one.name}: ${one.missing}` : "";
    board.fill(this.names);
    this.listed = null;
  }

  async listModels() {
    const name = this.provider.value;
    if (!name || this.listed === name) return;
    this.listed = name;
    try {
      const found = await board.act("models", name);
      if (this.provider.value === name) board.fill(this.names, found.map((one) => board.h("option", { value: one })));
    } catch (problem) {
      this.status.textContent = `the models of ${name} are not known: ${problem.message}`;
    }
  }

  drawBudgets(budget) {
    const { h } = board;
    const row = ([name, what]) => h("label", {}, `At most ${what}`, h("input", { type: "text", inputmode: "decimal", name, value: budget[name] ?? "", placeholder: "no bound", oninput: (event) => this.setBudget(name, event.target) }));
    this.budgets = h("details", { class: "budgets" }, h("summary", {}, "Budget"), h("div", { class: "fields" }, h("p", { class: "quiet" }, "What one question may cost."), Object.entries(BUDGETS).map(row)));
  }

  setBudget(name, input) {
    const written = input.value.trim();
    const value = written === "" ? null : Number(written);
    const isBad = Number.isNaN(value);
    input.setAttribute("aria-invalid", String(isBad));
    this.budget[name] = isBad ? written : value;
  }

  // -- asking

  key(event) {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    this.ask(this.words.value);
  }

  paste(event) {
    const files = [...event.clipboardData.files];
    if (!files.length) return;
    event.preventDefault();
    this.attach(files);
  }

  async attach(files) {
    for (const file of files) {
      if (this.attached.length >= MAX_ATTACHED) return this.say(`A question takes at most ${MAX_ATTACHED} files: ${file.name} is left out.`);
      if (file.size > MAX_BYTES) return this.say(`${file.name} is larger than ${number(MAX_BYTES)} bytes: attach a part of it.`);
      try {
        this.attached.push(await fileOf(file));
      } catch {
        return this.say(`${file.name} cannot be read.`);
      }
      this.drawAttached();
      this.say(`${file.name} is attached.`);
    }
  }

  drawAttached() {
    const { h, text, fill } = board;
    const remove = (one) => h("button", { type: "button", class: "leave", "aria-label": `Remove ${one.name}`, onclick: () => { this.attached = this.attached.filter((other) => other !== one); this.drawAttached(); this.words.focus(); } }, "×");
    fill(this.files, this.attached.map((one) => h("li", {}, one.block.type === "image" && shownBlock(one.block), text(one.name), remove(one))));
    this.files.hidden = !this.attached.length;
  }

  get modelName() {
    const provider = this.provider.value;
    return provider ? provider + (this.model.value.trim() ? `:${this.model.value.trim()}` : "") : null;
  }

  async ask(words) {
    if (this.controller) return;
    if (words !== null && !words.trim()) return void this.words.focus();
    const controller = (this.controller = new AbortController());
    this.refused?.remove(); // of a question that was never asked
    const attached = words === null ? [] : this.attached;
    const asked = words === null ? null : this.thread.asked(words, attached);
    this.thread.toEnd();
    if (words !== null) {
      this.words.value = "";
      this.attached = [];
      this.drawAttached();
    }
    this.progress = { began: performance.now(), calls: 0, tokens: 0, cost: 0, requests: 0 };
    this.running(true);
    try {
      await board.stream("ask", { text: words, model: this.modelName, budget: this.budget, attached: attached.map(({ name, data }) => ({ name, data })) }, (event) => this.hear(event), { signal: controller.signal, note: (one) => this.heard(one) });
      this.say("The answer is complete.");
    } catch (problem) {
      this.failed(problem, words, asked, attached);
    } finally {
      this.controller = null;
      this.running(false);
    }
  }

  failed(problem, words, asked, attached) {
    let item;
    this.thread.close();
    if (problem.name === "AbortError") {
      item = this.thread.note(this.thread.begun ? "Stopped. What came of the answer is kept." : "Stopped before it was asked.", "why");
      this.say("Stopped.");
    } else {
      const { h, text } = board;
      item = this.thread.add("Problem", h("div", { class: "problem", role: "alert" }, text(problem.message, "p", { class: "bad" }), problem.hint && text(problem.hint, "p", { class: "quiet hint-lines" })));
      this.say("");
    }
    this.refused = this.thread.begun ? null : item;
    if (!this.thread.begun && asked) { // nothing was asked: it stands where it was written
      asked.remove();
      this.words.value ||= words;
      this.attached = [...attached, ...this.attached];
      this.drawAttached();
    }
    this.again.hidden = !this.thread.begun;
  }

  running(isRunning) {
    this.thread.begun = isRunning ? null : this.thread.begun;
    if (isRunning) this.again.hidden = true;
    this.send.hidden = isRunning;
    this.stop.hidden = !isRunning;
    clearInterval(this.ticking);
    if (isRunning) this.ticking = setInterval(() => this.drawProgress(), 500);
    this.drawProgress();
    this.drawEmpty();
    if (!isRunning && this.form.contains(document.activeElement)) this.words.focus();
  }

  say(words) { this.status.textContent = words; }

  heard(one) {
    if (one.kind === "progress") this.thread.calls.get(one.call)?.take({ progress: one.message ?? `${one.done}${one.total ? ` of ${one.total}` : ""}` });
  }

  hear(event) {
    const progress = this.progress;
    if (event.type === "totals") return this.drawTotals(event);
    if (event.type === "call") progress.calls += 1;
    if (event.type === "round") {
      progress.requests += 1;
      progress.tokens += event.usage.input_tokens + event.usage.output_tokens;
      progress.cost = event.cost === null ? null : progress.cost + Number(event.cost);
    }
    this.thread.take(event);
    if (event.type === "conversation") {
      const last = event.conversation.messages.at(-1);
      this.again.hidden = !last || (last.role === "assistant" && [undefined, null, "length"].includes(last.cut));
    }
    if (this.controller) this.drawProgress();
  }

  drawProgress() {
    if (!this.controller) return;
    const { begun } = this.thread;
    if (!begun) return this.say("Reaching the model…");
    const running = [...this.thread.calls.values()].filter((one) => one.state === "running" && !one.result).map((one) => one.name);
    const { calls, tokens, cost, requests, began } = this.progress;
    const seconds = Math.round((performance.now() - began) / 1000);
    const done = { max_tool_calls: number(calls), max_rounds: number(requests), max_tokens: number(tokens), max_seconds: number(seconds), max_cost: cost === null ? "?" : Number(cost.toPrecision(3)) };
    const parts = Object.entries(BUDGETS).filter(([name]) => begun.budget[name] !== null || ["max_tool_calls", "max_tokens"].includes(name)).map(([name, what]) => `${done[name]}${begun.budget[name] === null ? "" : ` of ${number(begun.budget[name])}`} ${what}`);
    this.say(`${running.length ? `${[...new Set(running)].join(", ")} ${running.length === 1 ? "runs" : "run"}` : `${begun.model} answers`} · ${parts.join(" · ")}`);
  }

  drawTotals({ usage, cost, requests, currency, tools }) {
    this.tools = tools;
    this.totals.textContent = requests ? `${plural(requests, "request")}: ${spent(usage, cost, currency)}` : "";
  }

  drawEmpty() {
    const { h, text, fill } = board;
    this.empty.hidden = !this.thread.isEmpty;
    const { tools, about: { problem } } = this;
    fill(this.empty, problem && !this.provider.value
      ? h("section", { class: "card" }, text(problem.problem, "p", { class: "why" }), problem.hint && text(problem.hint, "p", { class: "quiet hint-lines" }), h("p", {}, "Providers that are here can be chosen below."))
      : h("p", { class: "empty" }, tools === undefined ? "" : `Ask something; the model may call ${plural(tools, "tool")} of this board. What a tool asks, you are asked here.`));
  }

  // -- conversations

  async begin(conversation) {
    if (this.controller) return this.say("Stop the answer first.");
    try {
      await board.stream("begin", conversation, (event) => this.hear(event));
      this.say(conversation ? "The saved conversation goes on." : "A new conversation.");
      this.words.focus();
    } catch (problem) {
      this.say(problem.message);
    }
    this.drawEmpty();
  }

  async openFile() {
    const [file] = this.file.files;
    this.file.value = "";
    if (!file) return;
    let conversation;
    try {
      conversation = board.parse(await file.text());
    } catch {
      return this.say(`${file.name} is not a saved conversation: it is not JSON`);
    }
    await this.begin(conversation);
  }

  async save() {
    await board.stream("open", null, (event) => {
      if (event.type !== "conversation") return;
      const url = URL.createObjectURL(new Blob([`${JSON.stringify(event.conversation, null, 1)}\n`], { type: "application/json" }));
      board.h("a", { href: url, download: "conversation.json" }).click();
      setTimeout(() => URL.revokeObjectURL(url), 10000);
      this.say("Saved as a file; pegboard chat --load goes on with it, too.");
    }).catch((problem) => this.say(problem.message));
  }
}
