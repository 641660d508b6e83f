// Lets the browser in, then shows the page that the fragment names.

import { enter, get, isIn, post } from "./api.js";
import { fill, h, tree, table, text } from "./dom.js";
import * as calls from "./calls.js";
import * as tool from "./tool.js";
import * as tools from "./tools.js";

const main = document.getElementById("main");
const OWN = { tools: tools.show, tool: tool.show, calls: calls.show };
let about = null;
let leave = null;

function problem(error) {
  return h("section", { class: "problem", role: "alert" }, h("h1", {}, "That did not work"), text(error.message, "p"), error.hint && text(error.hint, "p", { class: "quiet" }));
}

async function come() {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  history.replaceState(null, "", location.pathname); // out of the address and of what is remembered of it
  if (!token) {
    fill(main, h("section", { class: "problem" }, h("h1", {}, "This browser was not let in"), h("p", {}, "Open the address that pegboard inspect tells; it is good once.")));
    return;
  }
  try {
    location.replace(`${(await enter(token)).base}#/tools`);
  } catch (error) {
    fill(main, problem(error), h("p", {}, "pegboard inspect tells a new address whenever one was used; start it again for another."));
  }
}

function drawNavigation(path) {
  const pages = [{ title: "Tools", path: "tools" }, { title: "Calls", path: "calls" }, ...about.pages];
  const own = path === "tool" ? "tools" : path;
  fill(document.getElementById("nav"), pages.map((page) => h("a", { href: `#/${page.path}`, "aria-current": page.path === own ? "page" : null }, page.title)));
  const who = [about.user_id ?? "nobody", about.profile && `profile ${about.profile}`, about.read_only && "read-only"].filter(Boolean);
  fill(document.getElementById("who"), text(who.join(" · ")));
}

async function showPlugin(root, page) {
  const board = { h, text, tree, table, data: () => get(`pages/${page.path}`), act: (name, value) => post(`pages/${page.path}/${name}`, { value }) };
  const module = await import(`/static/pages/${page.path}.js`);
  return module.default(root, board);
}

async function route(event) {
  const [path, query] = location.hash.slice(1).split("?");
  const [, first = "", ...rest] = path.split("/");
  if (location.hash === "#main") return; // the link to the content
  leave?.();
  leave = null;
  try {
    about ??= await get("about");
    const page = about.pages.find((one) => one.path === first);
    const name = OWN[first] || page ? first : "tools";
    drawNavigation(name);
    const root = h("div", { class: `page page-${name}` });
    fill(main, root);
    const given = { about, name: decodeURIComponent(rest.join("/")), query: new URLSearchParams(query) };
    leave = (await (page ? showPlugin(root, page) : OWN[name](root, given))) ?? null;
    document.title = `${root.querySelector("h1")?.textContent ?? "Pegboard"} · Pegboard`;
    if (event) main.focus(); // whoever came by a link or a key reads on here
  } catch (error) {
    fill(main, problem(error));
    if (error.status === 401) fill(main, problem(error), h("p", {}, "Open the address that pegboard inspect told last."));
  }
}

if (isIn) {
  addEventListener("hashchange", route);
  route();
} else come();
