// Elements whose texts are texts: nothing of a third party is ever read as HTML, or drawn in another order than it has.

import { isRaw } from "./json.js";

/** `h("p", {class: "x", onclick: f}, "text", element, [more])`; null and false are left out. */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value") element.value = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  for (const one of children.flat(Infinity)) { // there may be more than a call may have arguments
    if (typeof one === "string") for (const part of plain(one)) element.append(part);
    else if (one !== null && one !== undefined && one !== false) element.append(one);
  }
  return element;
}

const TURNS_OR_HIDES = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e\u2028\u2029\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff9-\ufffb\u{1d173}-\u{1d17a}\u{e0000}-\u{e01ef}]/u;

/** A text, in which what turns or hides its neighbours is shown by its number. */
export function plain(words) {
  if (!TURNS_OR_HIDES.test(words)) return [words];
  return words.split(new RegExp(`(${TURNS_OR_HIDES.source})`, "u")).filter(Boolean).map((part) =>
    TURNS_OR_HIDES.test(part) ? h("span", { class: "mark warn", title: "a character that turns or hides text" }, `U+${part.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`) : part);
}

/** Put these in the place of what an element holds. */
export function fill(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter((one) => one !== null && one !== undefined && one !== false));
  return element;
}

/** Let an element hold just these, in this order; what stays there is not touched, so that it keeps the focus. */
export function arrange(element, list) {
  const wanted = new Set(list);
  for (const child of [...element.childNodes]) if (!wanted.has(child)) child.remove();
  let at = element.firstChild;
  for (const one of list) {
    if (one === at) at = at.nextSibling;
    else element.insertBefore(one, at);
  }
}

/** A text of a third party, in its own direction. */
export const text = (value, tag = "span", attributes = {}) => h(tag, { dir: "auto", ...attributes }, String(value ?? ""));

/** What a person is asked. Below its first line are values of the arguments, in which words that an untrusted source said
 * stand between « and » (`pegboard.flows`): those are marked. */
export function question(words) {
  const [first, ...values] = words.split("\n");
  const marked = (line) => line.split(/«([^»]*)»/).map((part, place) => (place % 2 ? h("mark", {}, part) : part));
  return h("div", { class: "question" }, text(first, "p"), values.map((line) => h("p", { dir: "auto", class: "value" }, marked(line))));
}

let ids = 0;
export const newId = (what = "i") => `${what}-${++ids}`;

const PAGE = 200; // of many things that are shown at first, and that each press adds

/** What `make` makes of each of many, in a list or another element: the first of them, and a button for more. */
export function paged(list, all, make) {
  const row = /^[OU]L$/.test(list.tagName) ? "li" : "div";
  let shown = 0;
  const more = () => {
    list.querySelector(":scope > .more")?.remove();
    list.append(...all.slice(shown, shown + PAGE).map(make));
    shown += PAGE;
    if (shown < all.length) list.append(h(row, { class: "more" }, h("button", { type: "button", class: "link", onclick: more }, `${(all.length - shown).toLocaleString("en")} more`)));
  };
  more();
  return list;
}

const LONG = 20000; // characters of one text that are shown at first, and that each press adds

/** A button that adds to an element what a long text has beyond `from`, a piece at a time. */
export function rest(words, from, element) {
  let shown = from;
  const more = h("button", { type: "button", onclick: () => {
    element.append(...plain(words.slice(shown, shown + LONG)));
    shown += LONG;
    more.hidden = shown >= words.length;
  } }, `Show more of ${words.length.toLocaleString("en")} characters`);
  return more;
}

/** A JSON value as a tree that opens and closes. */
export function tree(value, { open = 2, name = null } = {}) {
  const label = name === null ? null : [text(name, "span", { class: "key" }), ": "];
  if (value === null || typeof value !== "object" || isRaw(value)) {
    const kind = value === null ? "null" : isRaw(value) ? "number" : typeof value;
    const written = JSON.stringify(value);
    const leaf = h("div", { class: "leaf" }, label, text(written.slice(0, LONG), "span", { class: kind }));
    if (written.length > LONG) leaf.append(" ", rest(written, LONG, leaf.querySelector(`.${kind}`)));
    return leaf;
  }
  const entries = Array.isArray(value) ? value.map((one, index) => [index, one]) : Object.entries(value);
  const [left, right] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  if (!entries.length) return h("div", { class: "leaf" }, label, left + right);
  const count = `${entries.length} ${Array.isArray(value) ? (entries.length === 1 ? "item" : "items") : entries.length === 1 ? "key" : "keys"}`;
  const inside = h("div", { class: "inside" });
  const details = h("details", { class: "tree" }, h("summary", {}, label, `${left}${right} `, h("span", { class: "quiet" }, count)), inside);
  const fillIn = () => inside.childElementCount || paged(inside, entries, ([key, one]) => tree(one, { open: open - 1, name: key }));
  details.addEventListener("toggle", () => details.open && fillIn());
  if (open > 0) {
    fillIn();
    details.open = true;
  }
  return details;
}

/** Say something to whoever looks or listens, for a moment. */
export function say(words) {
  const said = document.getElementById("said");
  said.textContent = words;
  clearTimeout(say.timer);
  say.timer = setTimeout(() => (said.textContent = ""), 4000);
}

/** A dialog with these children; resolves to what `done` is called with, or to null where it was closed. */
export function dialog(title, make) {
  return new Promise((resolve) => {
    const id = newId("title");
    const box = h("dialog", { "aria-labelledby": id });
    const done = (value) => {
      box.close();
      box.remove();
      resolve(value);
    };
    box.append(h("h2", { id }, title), ...[make(done)].flat(Infinity).filter(Boolean));
    box.addEventListener("cancel", (event) => {
      event.preventDefault();
      done(null);
    });
    box.leave = () => done(null);
    document.body.append(box);
    box.showModal();
    box.scrollTop = 0; // what has the focus may be far below what is asked
  });
}

/** Tabs: `[[title, make()], ...]`, made when they are first shown. */
export function tabs(label, list) {
  const panels = list.map(() => null);
  const body = h("div");
  const id = newId("tabs");
  const buttons = list.map(([title], index) =>
    h("button", { type: "button", role: "tab", id: `${id}-${index}`, "aria-controls": `${id}-panel`, onclick: () => show(index) }, title));
  const show = (index) => {
    panels[index] ??= list[index][1]();
    buttons.forEach((button, place) => {
      button.setAttribute("aria-selected", String(place === index));
      button.tabIndex = place === index ? 0 : -1;
    });
    fill(body, panels[index]);
    body.setAttribute("aria-labelledby", `${id}-${index}`);
  };
  const bar = h("div", { role: "tablist", class: "tabs", "aria-label": label }, buttons);
  bar.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const next = (buttons.indexOf(document.activeElement) + step + buttons.length) % buttons.length;
    show(next);
    buttons[next].focus();
  });
  body.id = `${id}-panel`;
  body.setAttribute("role", "tabpanel");
  body.tabIndex = 0;
  show(0);
  const whole = h("div", { class: "tabbed" }, bar, body);
  whole.show = show;
  return whole;
}

/** A table with a caption for those who listen. */
export function table(caption, heads, rows) {
  return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": caption },
    h("table", {}, h("caption", { class: "unseen" }, caption),
      h("thead", {}, h("tr", {}, heads.map((head) => h("th", { scope: "col" }, head)))),
      h("tbody", {}, rows.map((row) => h("tr", {}, row.map((cell) => h("td", {}, cell)))))));
}

/** A small chart of numbers, each a bar; `over` are parts of them, in another colour. */
export function bars(numbers, over, label) {
  const most = Math.max(1, ...numbers);
  const ns = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(ns, "svg");
  svg.setAttribute("viewBox", `0 0 ${numbers.length * 3} 24`);
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", label);
  svg.classList.add("bars");
  const draw = (value, index, kind) => {
    if (!value) return;
    const bar = document.createElementNS(ns, "rect");
    const high = Math.max(1, (24 * value) / most);
    for (const [name, number] of [["x", index * 3], ["y", 24 - high], ["width", 2], ["height", high]]) bar.setAttribute(name, number);
    bar.classList.add(kind);
    svg.append(bar);
  };
  numbers.forEach((value, index) => draw(value, index, "all"));
  over.forEach((value, index) => draw(value, index, "bad"));
  return svg;
}
