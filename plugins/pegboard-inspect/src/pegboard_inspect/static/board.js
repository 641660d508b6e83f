// What the pages of plugins are given.

import { Problem, get, post, stream } from "./api.js";
import { asking } from "./asking.js";
import * as calls from "./calls.js";
import { dialog, fill, h, paged, question, say, tabs, table, text, tree } from "./dom.js";
import { Form } from "./form.js";
import { parse } from "./json.js";
import { linkTo, markdown } from "./markdown.js";
import { ms, resultView } from "./results.js";
import { Written } from "./written.js";

/** What a page of a plugin asks, and what shows it; docs/how-to/inspect-the-board.md says each. */
export const boardOf = (page, name) => ({
  name,
  h, text, tree, table, tabs, fill, paged, dialog, say, ms, parse, markdown, result: resultView, waterfall: calls.waterfall, question, guards: calls.guardsOf,
  form: (schema, changed, options) => new Form(schema, changed, options),
  written: (schema, options) => new Written(schema, options),
  link: linkTo,
  data: () => get(`pages/${page.path}`),
  act: (name, value) => post(`pages/${page.path}/${name}`, { value }),
  stream: (name, value, hear, options) => listen(`pages/${page.path}/${name}`, value, hear, options),
});

/** Each value of a stream to `hear`, until it ends; progress and lines of log to `note`. */
async function listen(what, value, hear, { signal = new AbortController().signal, note = () => {} } = {}) {
  const ask = asking(signal);
  let ended = false;
  await stream(what, JSON.stringify({ value }), (one) => {
    ask(one);
    if (one.kind === "said") hear(one.value);
    if (one.kind === "progress" || one.kind === "log") note(one);
    if (one.kind === "problem") throw new Problem(one.problem, one.hint, 409);
    ended ||= one.kind === "done";
  }, signal);
  if (!ended) throw new Problem("the program ended before it was done", "is pegboard inspect still running?", 0);
}
