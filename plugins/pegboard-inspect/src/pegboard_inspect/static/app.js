// Lets the browser in, then shows the page that the fragment names.

import { Problem, enter, get, isIn, post, stream } from "./api.js";
import { asking } from "./asking.js";
import { dialog, fill, h, question, say, tabs, tree, table, text } from "./dom.js";
import { Form } from "./form.js";
import * as calls from "./calls.js";
import { parse } from "./json.js";
import { linkTo, markdown } from "./markdown.js";
import { ms, resultView } from "./results.js";
import * as tool from "./tool.js";
import * as tools from "./tools.js";
import { Written } from "./written.js";

const main = document.getElementById("main");
const OWN = { tools: tools.show, tool: tool.show, calls: calls.show };
let about = null;
let leave = null;

function problem(error) {
  return h("section", { class: "problem", role: "alert" }, h("h1", {}, "That did not work"), text(error.message, "p"), error.hint && text(error.hint, "p", { class: "quiet" }));
}

async function come() {
  const told = new URLSearchParams(location.hash.slice(1));
  const token = told.get("token");
  history.replaceState(null, "", location.pathname); // out of the address and of what is remembered of it
  if (!token) {
    askToken(h("section", { class: "problem" }, h("h1", {}, "This browser was not let in"), h("p", {}, "Open the address that pegboard inspect tells; it is good once.")));
    return;
  }
  await comeBy(token, told.get("page"));
}

async function comeBy(token, page = null) {
  try {
    location.replace(`${(await enter(token)).base}#/${page ?? "tools"}`);
  } catch (error) {
    askToken(problem(error), h("p", {}, "pegboard inspect tells a new address whenever one was used; start it again for another."));
  }
}

/** Whoever sits elsewhere has a token of their own. */
function askToken(...why) {
  const token = h("input", { type: "password", id: "token", autocomplete: "current-password", required: true });
  fill(main, why, h("form", { class: "come", onsubmit: (event) => { event.preventDefault(); comeBy(token.value.trim()); } }, h("label", { for: "token" }, "Or by a token of your own"), h("div", { class: "bar" }, token, h("button", { class: "main" }, "Come in"))));
}

function drawNavigation(path) {
  const pages = [{ title: "Tools", path: "tools" }, { title: "Calls", path: "calls" }, ...about.pages];
  const own = path === "tool" ? "tools" : path;
  fill(document.getElementById("nav"), pages.map((page) => h("a", { href: `#/${page.path}`, "aria-current": page.path === own ? "page" : null }, page.title)));
  const who = [about.user_id ?? "nobody", about.profile && `profile ${about.profile}`, about.read_only && "read-only"].filter(Boolean);
  fill(document.getElementById("who"), text(who.join(" · ")));
}

/** What a page of a plugin asks, and what shows it; docs/how-to/inspect-the-board.md says each. */
const boardOf = (page, name) => ({
  name,
  h, text, tree, table, tabs, fill, dialog, say, ms, parse, markdown, result: resultView, waterfall: calls.waterfall, question, guards: calls.guardsOf,
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

async function showPlugin(root, page, name) {
  if (page.has_style && !document.getElementById(`style-${page.path}`)) {
    await new Promise((there) => document.head.append(h("link", { rel: "stylesheet", id: `style-${page.path}`, href: `/static/pages/${page.path}.css`, onload: there, onerror: there })));
  }
  const module = await import(`/static/pages/${page.path}.js`);
  return module.default(root, boardOf(page, name));
}

/** Let pages that have something to tell at any time hear of it, whichever is shown. */
function watchPages() {
  for (const page of about.pages.filter((one) => one.watches)) import(`/static/pages/${page.path}.js`).then((module) => module.watch(boardOf(page, "")), (problem) => say(problem.message));
}

async function route(event) {
  const [path, query] = location.hash.slice(1).split("?");
  const [, first = "", ...rest] = path.split("/");
  if (location.hash === "#main") return; // the link to the content
  leave?.();
  leave = null;
  try {
    if (!about) {
      about = await get("about");
      watchPages();
    }
    const page = about.pages.find((one) => one.path === first);
    const name = OWN[first] || page ? first : "tools";
    drawNavigation(name);
    const root = h("div", { class: `page page-${name}` });
    fill(main, root);
    if (event) main.focus(); // whoever came by a link or a key reads on here; at once, since the next key may come soon
    const given = { about, name: decodeURIComponent(rest.join("/")), query: new URLSearchParams(query) };
    leave = (await (page ? showPlugin(root, page, given.name) : OWN[name](root, given))) ?? null;
    document.title = `${root.querySelector("h1")?.textContent ?? "Pegboard"} · Pegboard`;
  } catch (error) {
    fill(main, problem(error));
    if (error.status === 401) fill(main, problem(error), h("p", {}, "Open the address that pegboard inspect told last."));
  }
}

if (isIn) {
  addEventListener("hashchange", route);
  route();
} else come();
