// Lets the browser in, then shows the page that the fragment names.

import { enter, get, isIn, load, onAway } from "./api.js";
import { fill, h, say, text } from "./dom.js";
import * as tools from "./tools.js";

const main = document.getElementById("main");
const OWN = { tools: async () => tools, tool: () => load("./tool.js"), calls: () => load("./calls.js") }; // what the first view needs comes with it, the others after it
const ALIVE_MS = 5000; // how often a page that is looked at asks whether the program answers
let about = null;
let leave = null;
let turn = 0; // of the page that is shown: what an older one still does is not shown

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
    await enter(token, `#/${page ?? "tools"}`);
    begin();
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

const moduleOf = (page) => Promise.all([load("./board.js"), load(`/static/pages/${page.path}.js`)]);

async function showPlugin(root, page, name) {
  if (page.has_style && !document.getElementById(`style-${page.path}`)) {
    await new Promise((there) => document.head.append(h("link", { rel: "stylesheet", id: `style-${page.path}`, href: `/static/pages/${page.path}.css`, onload: there, onerror: there })));
  }
  const [{ boardOf }, module] = await moduleOf(page);
  return module.default(root, boardOf(page, name));
}

/** Let pages that have something to tell at any time hear of it, whichever is shown. */
async function watchPages() {
  for (const page of about.pages.filter((one) => one.watches)) {
    const [{ boardOf }, module] = await moduleOf(page);
    module.watch(boardOf(page, ""));
  }
}

async function route(event) {
  const [path, query] = location.hash.slice(1).split("?");
  const [, first = "", ...rest] = path.split("/");
  if (location.hash === "#main") return; // the link to the content
  leave?.();
  leave = null;
  const mine = ++turn;
  try {
    if (!about) {
      if (first === "tools") tools.ahead();
      about = await get("about");
      watchPages().catch((problem) => say(problem.message));
    }
    const page = about.pages.find((one) => one.path === first);
    const name = OWN[first] || page ? first : "tools";
    drawNavigation(name);
    const root = h("div", { class: `page page-${name}` });
    fill(main, root);
    if (event) main.focus(); // whoever came by a link or a key reads on here; at once, since the next key may come soon
    const given = { about, name: decodeURIComponent(rest.join("/")), query: new URLSearchParams(query) };
    const left = await (page ? showPlugin(root, page, given.name) : OWN[name]().then((module) => module.show(root, given)));
    if (mine === 1) setTimeout(() => Promise.all([OWN.tool(), OWN.calls(), load("./board.js")]).catch(() => {}), 1000); // there when they are wanted
    if (mine !== turn) return left?.();
    leave = left ?? null;
    document.title = `${root.querySelector("h1")?.textContent ?? "Pegboard"} · Pegboard`;
  } catch (error) {
    if (mine !== turn) return;
    fill(main, problem(error));
    if (error.status === 401) fill(main, problem(error), h("p", {}, "Open the address that pegboard inspect told last."));
  }
}

/** Said on every page: what one sees there would look as if it were so still. */
onAway((problem) => {
  const note = document.getElementById("away");
  const words = problem ? `${problem.message[0].toUpperCase()}${problem.message.slice(1)}: what is shown here is as it was.` : "";
  note.hidden = !problem;
  if (note.textContent !== words) note.textContent = words;
});

function begin() {
  setInterval(() => document.visibilityState === "visible" && get("about").catch(() => {}), ALIVE_MS);
  addEventListener("hashchange", route);
  route();
}

if (isIn()) begin();
else come();
