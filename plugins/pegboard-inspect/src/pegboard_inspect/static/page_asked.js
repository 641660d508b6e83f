// What a server that is inspected alone asks: each request as it came, and its answer by hand. Whatever page is shown, a
// request comes up as a dialog; one that is left for later waits here.

const waiting = new Map(); // by key, in the order they came
const before = []; // those that wait no more, the newest first
const OLD = 50;
const AGAIN_MS = 3000;
const REJECTED = -1; // "User rejected", as the specification shows it
let draw = () => {};
let turn = Promise.resolve(); // one dialog after the other

const text = { type: "string" };
const objectOf = (properties) => ({ type: "object", required: Object.keys(properties), properties });
const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

const ANSWERS = { // the schema of what is sent, by method
  "sampling/createMessage": () => objectOf({ role: { const: "assistant" }, content: objectOf({ type: { const: "text" }, text: { ...text, default: "" } }), model: { ...text, default: "by-hand" }, stopReason: { ...text, default: "endTurn" } }),
  "elicitation/create": ({ mode, requestedSchema }) => objectOf({ action: { const: "accept" }, ...(mode !== "url" && { content: isObject(requestedSchema) ? requestedSchema : { type: "object" } }) }),
  "roots/list": () => objectOf({ roots: { type: "array", items: { type: "object", required: ["uri"], properties: { uri: { ...text, description: "As in file:///home/ada/project." }, name: text } } } }),
};

/** Hear of requests as long as the browser's page lives, and again where the program was away for a moment. */
export async function watch(board) {
  let isFirst;
  const hear = ({ asked, gone }) => {
    const there = new Set(asked.map((one) => one.key));
    for (const key of isFirst ? [...waiting.keys()].filter((one) => !there.has(one)) : gone) forget(key);
    isFirst = false;
    for (const one of asked.filter(({ key }) => !waiting.has(key))) {
      waiting.set(one.key, { ...one, until: performance.now() + 1000 * one.left_s, leave: () => {} });
      turn = turn.then(() => open(board, one.key));
    }
    draw();
  };
  for (;;) {
    isFirst = true;
    await board.stream("watch", null, hear).catch(() => {}); // why is said on every page
    await new Promise((go) => setTimeout(go, AGAIN_MS));
  }
}

function forget(key) {
  const one = waiting.get(key);
  if (!one) return;
  waiting.delete(key);
  before.unshift({ method: one.method, params: one.params, became: one.became ?? "taken back, not answered in time, or answered elsewhere" });
  before.length = Math.min(before.length, OLD);
  one.leave();
}

/** Ask for the answer to one that waits still; it may be left for later. */
async function open(board, key) {
  const one = waiting.get(key);
  if (!one) return;
  const { h, dialog, tree } = board;
  const isForm = one.method === "elicitation/create";
  const written = board.written(ANSWERS[one.method](isObject(one.params) ? one.params : {}), { label: "Answer" });
  const wrong = h("p", { class: "problem", role: "alert", hidden: true });
  const left = h("span", { class: "quiet" });
  const tick = () => { const s = Math.max(0, Math.round((one.until - performance.now()) / 1000)); left.textContent = `Answered for you in ${Math.floor(s / 60)}:${String(s % 60).padStart(2, "0")}`; };
  const timer = setInterval(tick, 1000);
  tick();
  await dialog(`The server asks: ${one.method}`, (done) => {
    one.leave = () => done(null);
    const give = async (answer, became) => {
      one.became = became;
      try {
        await board.act("answer", { key, text: answer });
        done(null);
      } catch (problem) {
        one.became = null;
        wrong.hidden = false;
        wrong.textContent = problem.message;
      }
    };
    const refuse = () => give(JSON.stringify({ error: { code: REJECTED, message: "User rejected the request" } }), "refused");
    const button = (label, onclick, kind = null) => h("button", { type: "button", class: kind, onclick }, label);
    return [
      isForm && isObject(one.params) && board.text(one.params.message, "p"),
      h("div", { class: "asked" }, one.params ? tree(one.params, { open: isForm ? 2 : 5 }) : h("p", { class: "quiet" }, "It gives no parameters.")),
      isForm && isObject(one.params) && one.params.mode === "url" && h("p", {}, board.link(one.params.url)),
      written.element, wrong,
      h("div", { class: "actions" },
        button("Send", () => written.ready() && give(`{"result":${written.json()}}`, "answered"), "main"),
        isForm ? [button("Decline", () => give('{"result":{"action":"decline"}}', "declined")), button("Cancel", () => give('{"result":{"action":"cancel"}}', "cancelled"))] : button("Refuse", refuse),
        button("Later", () => done(null)), left),
    ];
  });
  clearInterval(timer);
  one.leave = () => {};
}

export default function show(root, board) {
  const { h, fill, tree } = board;
  const list = h("ul", { class: "names", "aria-label": "Requests that wait" });
  const old = h("div");
  root.append(h("h1", {}, "Asked"), h("p", { class: "quiet" }, "What the server asks of its client: an answer of a model, something of you, its folders. You answer it by hand."), list, old);
  draw = () => {
    fill(list, waiting.size ? [...waiting].map(([key, one]) => h("li", {}, h("b", {}, one.method), " ", h("button", { type: "button", onclick: () => open(board, key) }, "Answer…"))) : h("li", { class: "empty" }, "Nothing waits for an answer."));
    fill(old, before.length ? [h("h2", {}, "Before"), before.map((one) => h("details", {}, h("summary", {}, h("b", {}, one.method), ` ${one.became}`), tree(one.params ?? {}, { open: 3 })))] : null);
  };
  draw();
  return () => { draw = () => {}; };
}
