// What a call or a stream asks a person, as dialogs: each goes when its question does.

import { post } from "./api.js";
import { dialog, h, question, say, text, tree } from "./dom.js";
import { Form } from "./form.js";
import { linkTo } from "./markdown.js";

/** Hears what a call says, and asks what it asks until `signal` is aborted. */
export function asking(signal) {
  const open = new Map();
  let id = null;
  const leave = () => open.forEach((gone) => gone());
  signal.addEventListener("abort", leave);
  return (one) => {
    if (one.kind === "begun") id = one.id;
    if (one.kind === "question") ask(one, (value) => post("answer", { id, key: one.key, answer: value }), (gone) => open.set(one.key, gone));
    if (one.kind === "answered") {
      open.get(one.key)?.();
      open.delete(one.key);
    }
    if (["result", "done", "problem"].includes(one.kind)) leave();
  };
}

async function ask(one, answer, opened) {
  const form = one.schema ? new Form(one.schema) : null;
  const value = await dialog(one.schema ? "The tool asks for something" : one.url ? "The tool asks you to visit an address" : "The tool asks you to confirm", (done) => {
    opened(() => done(undefined));
    return [
      question(one.question),
      h("p", { class: "quiet" }, text(one.tool), " of ", text(one.origin)),
      one.url && h("p", { class: "place" }, linkTo(one.url)),
      Object.keys(one.arguments ?? {}).length ? h("div", { class: "asked" }, tree(one.arguments, { open: 3 })) : null,
      form?.element,
      h("div", { class: "actions" },
        h("button", { type: "button", class: "main", onclick: () => done(form ? form.value() : true) }, form ? "Send" : one.url ? "I have done that" : "Yes"),
        one.remembers && h("button", { type: "button", onclick: () => done("session") }, "Yes, always in this browser"),
        h("button", { type: "button", onclick: () => done(false) }, "No")),
    ];
  });
  if (value !== undefined) await answer(value).catch((problem) => say(problem.message));
}
