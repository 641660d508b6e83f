// The tools of the board: a list that is searched as one types, what they cost, and why some cannot be called.

import { get } from "./api.js";
import { arrange, fill, h, say, text } from "./dom.js";

const FIRST = 30; // rows that a letter draws: what a window shows, and some below it
const PAGE = 100; // rows that come when one scrolls to the end
const MADE = 1000; // rows that are kept once they were made
const LONGEST = 200; // of what is searched for
const kept = { words: "", category: "", tag: "", source: "", state: "", marked: "", profile: "", dialect: "", selected: new Set() };

/** The rows that hold every word, the best match first; a word in the name counts more than one elsewhere. */
export function found(rows, words, filters) {
  const wanted = [...new Set(words.slice(0, LONGEST).toLowerCase().split(/\s+/).filter(Boolean))];
  const chosen = Object.entries(filters).filter(([, value]) => value);
  const fits = chosen.length ? rows.filter((row) => chosen.every(([key, value]) => (key === "tag" ? row.tags.includes(value) : row[key] === value))) : rows;
  if (!wanted.length) return fits;
  const ranks = []; // the rows of each score, in their order: there are few scores, and to sort takes longer
  for (const row of fits) {
    let score = 0;
    for (const word of wanted) {
      const one = row.low === word ? 16 : row.low.includes(word) ? 8 : row.words.includes(word) ? 4 : row.about.includes(word) ? 1 : 0;
      if (!one) {
        score = -1;
        break;
      }
      score += one;
    }
    if (score > 0) (ranks[score] ??= []).push(row);
  }
  return ranks.reverse().flat();
}

/** What a search looks at, once and not at each letter. */
function prepared(rows) {
  for (const row of rows) {
    row.low = row.name.toLowerCase();
    row.words = [row.title ?? "", row.category, ...row.tags].join("\n").toLowerCase();
    row.about = row.summary.toLowerCase();
    row.marked = row.marks.length ? "marked" : "";
  }
  return rows;
}

const number = (value) => String(value).replace(/\B(?=(\d{3})+$)/g, ","); // to make an Intl.NumberFormat holds up the first view

let early = null; // the tools, where they were asked for before there was a page to show them

/** Ask for the tools while what they are shown with is asked for. */
export function ahead() {
  early = get("tools");
  early.catch(() => {}); // told where they are shown
}

export async function show(root, { about }) {
  if (!about.dialects.includes(kept.dialect)) kept.dialect = about.dialects.includes("openai") ? "openai" : about.dialects[0];
  let rows = [];
  let costs = null;
  let shown = FIRST;
  let fits = [];
  const made = new Map(); // the elements of rows: most of them stay from one letter to the next
  const list = h("ul", { class: "tools", "aria-label": "Tools" });
  const count = h("p", { class: "count", role: "status" });
  const more = h("button", { type: "button", hidden: true, onclick: () => grow() });
  const search = h("input", { type: "search", id: "search", value: kept.words, placeholder: "Search names, tags, descriptions", "aria-label": "Search tools", maxlength: LONGEST, autocomplete: "off", spellcheck: "false" });
  const select = (key, label) => h("select", { "aria-label": label, onchange: (event) => { kept[key] = event.target.value; shown = FIRST; (key === "profile" ? load : key === "dialect" ? price : draw)(); } });
  const selects = { category: select("category", "Category"), tag: select("tag", "Tag"), source: select("source", "Source"), state: select("state", "State"), marked: select("marked", "Marks"), profile: select("profile", "Profile"), dialect: select("dialect", "Cost in") };

  const options = (key, all, values) => {
    if (!values.includes(kept[key])) kept[key] = values[0] === undefined || all ? "" : values[0];
    fill(selects[key], all && h("option", { value: "" }, all), values.map((value) => h("option", { value, selected: value === kept[key] }, value)));
    selects[key].hidden = values.length < (all ? 1 : 2);
  };
  const unique = (values) => [...new Set(values)].filter(Boolean).sort();

  function draw() {
    fits = found(rows, kept.words, filters());
    drawRows();
    sum();
  }

  /** More of them, as one comes to the end of those that are there. */
  function grow() {
    shown += PAGE;
    drawRows();
  }

  function drawRows() {
    arrange(list, fits.slice(0, shown).map(item));
    more.hidden = fits.length <= shown;
    more.textContent = `Show ${number(Math.min(PAGE, fits.length - shown))} more of ${number(fits.length - shown)}`;
    if (!rows.length) fill(list, h("li", { class: "empty" }, "No tool is on the board. Install a plugin: pip install pegboard-calculator"));
    else if (!fits.length) fill(list, h("li", { class: "empty" }, "No tool matches. ", h("button", { type: "button", class: "link", onclick: clear }, "Show all")));
  }

  const filters = () => ({ category: kept.category, tag: kept.tag, source: kept.source, state: kept.state, marked: kept.marked });

  function sum() {
    const chosen = kept.selected.size ? rows.filter((row) => kept.selected.has(row.name)) : [];
    const cost = (some) => (costs ? `${number(some.reduce((all, row) => all + row.cost, 0))} tokens` : "… tokens");
    const tools = `${number(fits.length)} ${fits.length === 1 ? "tool" : "tools"}`;
    fill(count, `${tools}, ${cost(fits)}`, chosen.length ? [` · ${number(chosen.length)} selected, ${cost(chosen)} `, h("button", { type: "button", class: "link", onclick: () => { kept.selected.clear(); made.clear(); draw(); } }, "Clear")] : null);
    count.dataset.fits = fits.length;
  }

  function clear() {
    Object.assign(kept, { words: "", category: "", tag: "", source: "", state: "", marked: "" });
    search.value = "";
    shown = FIRST;
    for (const one of Object.values(selects)) if (one !== selects.dialect && one !== selects.profile) one.value = "";
    draw();
    search.focus();
  }

  function item(row) {
    if (made.size > MADE) made.clear();
    if (!made.has(row)) made.set(row, itemOf(row));
    return made.get(row);
  }

  function itemOf(row) {
    const off = row.state !== "ready" && row.state !== "known";
    const box = h("input", { type: "checkbox", "aria-label": `Select ${row.name}`, onchange: (event) => { event.target.checked ? kept.selected.add(row.name) : kept.selected.delete(row.name); sum(); } });
    box.checked = kept.selected.has(row.name);
    const marks = [row.read_only && h("span", { class: "mark" }, "reads"), row.destructive && h("span", { class: "mark warn" }, "destructive"), row.marks.map((mark) => h("span", { class: "mark warn", title: "Something to look at before a model reads it" }, mark))];
    return h("li", { class: off ? "off" : null }, box,
      h("div", { class: "what" },
        h("a", { href: `#/tool/${encodeURIComponent(row.name)}`, class: "name" }, text(row.name)), " ",
        row.title && row.title !== row.name && text(row.title, "span", { class: "title" }), marks,
        row.summary && text(row.summary, "p", { class: "summary" }),
        row.why && h("p", { class: "why" }, h("b", {}, row.state), ": ", text(row.why))),
      h("div", { class: "facts" }, h("span", {}, text(row.category), row.category && row.source && " · ", text(row.source, "span", { class: "quiet" })), costs?.[row.name] !== undefined && h("span", { class: "cost" }, `${number(row.cost)} tokens`)));
  }
  async function price() {
    costs = await get(`costs?dialect=${encodeURIComponent(kept.dialect)}`);
    account();
    draw();
  }

  /** What each row costs; rows that say another price go. */
  function account() {
    for (const row of rows) row.cost = costs?.[row.name] ?? 0;
    made.clear();
  }

  async function load() {
    const asked = early ?? get(`tools${kept.profile ? `?profile=${encodeURIComponent(kept.profile)}` : ""}`);
    early = null;
    rows = prepared(await asked);
    account();
    options("category", "All categories", unique(rows.map((row) => row.category)));
    options("tag", "All tags", unique(rows.flatMap((row) => row.tags)));
    options("source", "All sources", unique(rows.map((row) => row.source)));
    options("state", "Any state", unique(rows.map((row) => row.state)));
    options("marked", "Marked or not", unique(rows.map((row) => row.marked)));
    draw();
  }

  search.addEventListener("input", () => {
    kept.words = search.value;
    shown = FIRST;
    draw();
  });
  const keys = (event) => {
    if (event.key === "/" && !/^(input|textarea|select)$/i.test(document.activeElement?.tagName ?? "")) {
      event.preventDefault();
      search.focus();
    }
  };
  addEventListener("keydown", keys);
  options("profile", "Own profile", about.profiles);
  options("dialect", null, about.dialects);
  fill(root, h("h1", {}, "Tools"),
    h("div", { class: "bar" }, search, selects.category, selects.tag, selects.source, selects.state, selects.marked, selects.profile, h("label", { class: "inline" }, "Cost in ", selects.dialect)),
    count, list, more);
  const atEnd = new IntersectionObserver(([end]) => end.isIntersecting && grow(), { rootMargin: "800px" });
  atEnd.observe(more);
  await load();
  price().catch((error) => say(error.message));
  return () => {
    removeEventListener("keydown", keys);
    atEnd.disconnect();
  };
}
