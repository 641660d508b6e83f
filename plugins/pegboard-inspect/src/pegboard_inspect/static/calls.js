// Calls as they happen: one row each with its stages, those that a call made below it, and counts of the last minute.

import { get, live } from "./api.js";
import { arrange, bars, fill, h, question, text, tree } from "./dom.js";
import { ms } from "./results.js";

const KEPT = 1000; // rows; older ones go
const SHOWN = 200;
const BUSY_MS = 250; // where there are more calls than anybody reads, the table is drawn no more often
const STAGES = ["admit", "validate", "approve", "limit", "queue", "execute", "normalise", "filter"];

// It goes on while other pages are shown, so that a call made there is here afterwards; the tab ends it.
const state = { rows: [], running: [], counts: null, audit: null, skipped: 0, underWay: 0, source: null, lost: false, paused: false, draw: null, filters: { tool: "", user: "", status: "", from: "" }, open: new Set() };

function listen() {
  if (state.source || state.paused) return;
  state.source = live();
  state.source.onmessage = (event) => take(JSON.parse(event.data));
  state.source.onopen = () => { state.lost = false; later(); };
  state.source.onerror = () => { state.lost = true; later(); get("about").catch(() => {}); }; // which says on the page why
}

function rest() {
  state.source?.close();
  state.source = null;
}

/** What happened since the last batch. */
export function take(batch) {
  state.rows.unshift(...batch.calls.reverse());
  state.rows.length = Math.min(state.rows.length, KEPT);
  state.running = batch.running;
  state.underWay = batch.under_way;
  state.counts = batch.counts;
  state.audit = batch.audit; // null: calls of other programs are not read
  state.skipped += batch.skipped;
  later(batch.skipped ? drawn + BUSY_MS - performance.now() : 0);
}

let waiting = false;
let drawn = -BUSY_MS;
function later(wait = 0) {
  if (waiting || !state.draw) return;
  waiting = true;
  const draw = () => requestAnimationFrame((now) => {
    waiting = false;
    drawn = now;
    state.draw?.();
  });
  if (wait > 0) setTimeout(draw, wait);
  else draw();
}

const clock = new Intl.DateTimeFormat("en-GB", { timeStyle: "medium" }); // to make one takes longer than all of a row
const time = (seconds) => `${clock.format(seconds * 1000)}.${String(Math.floor((seconds % 1) * 1000)).padStart(3, "0")}`;

export function waterfall(row, longest = 0) {
  const total = STAGES.reduce((all, stage) => all + (row.timings[stage] ?? 0), 0);
  const ns = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(ns, "svg");
  svg.setAttribute("viewBox", "0 0 1000 10");
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", STAGES.filter((stage) => row.timings[stage]).map((stage) => `${stage} ${ms(row.timings[stage] / 1000)}`).join(", ") || "no stages");
  svg.classList.add("waterfall");
  let x = 0;
  for (const stage of STAGES) {
    const width = total ? (1000 * (row.timings[stage] ?? 0)) / Math.max(total, longest) : 0;
    if (!width) continue;
    const rect = document.createElementNS(ns, "rect");
    for (const [name, value] of [["x", x], ["y", 0], ["width", Math.max(width, 2)], ["height", 10]]) rect.setAttribute(name, value);
    rect.classList.add(`stage-${stage}`);
    svg.append(rect);
    x += width;
  }
  return svg;
}

const idOf = (row) => `${row.session} ${row.request_id}`; // a caller may choose the second part
const nothing = (row) => (row.elsewhere ? "the audit keeps no results" : "nothing is shown");
const notKept = (row) => row.elsewhere && row.arguments === null;

/** What each guard said, and what it asked a person. */
export const guardsOf = ({ guards }) => h("ul", { class: "asks" }, guards.map((one) => h("li", {}, text(one.guard, "b"), ` at ${one.stage}: ${one.verdict} in ${ms(one.us / 1000)}`, one.asked.length ? [h("span", { class: "quiet" }, ", asked a person:"), one.asked.map(question)] : null)));

const code = (row) => (row.status === "error" ? row.error : row.status);

function detail(row) {
  const again = `#/tool/${encodeURIComponent(row.tool ?? "")}?arguments=${encodeURIComponent(JSON.stringify(row.arguments ?? {}))}`;
  return h("div", { class: "detail" },
    row.message && text(row.message, "p", { class: "message" }),
    h("div", { class: "columns" },
      h("div", {}, h("h2", {}, "Arguments"), notKept(row) ? h("p", { class: "quiet" }, "the audit keeps none, unless arguments = true stands under [plugins.audit_db]") : tree(row.arguments ?? null, { open: 2 }), row.tool && typeof row.arguments === "object" && !notKept(row) && h("p", {}, h("a", { href: again }, "Call again with changes"))),
      h("div", {}, h("h2", {}, "Result"), row.text ? text(row.text, "pre", { class: "text", tabindex: 0 }) : h("p", { class: "quiet" }, nothing(row)))),
    h("h2", {}, "Stages"),
    h("ul", { class: "stages" }, STAGES.filter((stage) => row.timings[stage]).map((stage) => h("li", {}, h("span", { class: `swatch stage-${stage}` }), `${stage} ${ms(row.timings[stage] / 1000)}`))),
    row.guards.length ? [h("h2", {}, "Guards"), guardsOf(row)] : null,
    h("p", { class: "quiet" }, text(row.request_id, "code"), ` on ${row.channel}`, row.elsewhere && " of another program", row.source && [", tool of ", text(row.source)], row.parent_id && [", called by ", text(row.parent_id, "code")]));
}

export async function show(root) {
  const body = h("ul", { class: "calls", "aria-label": "Calls, the newest first" });
  const head = h("div", { class: "counts" });
  const note = h("p", { class: "count", role: "status" });
  const filter = (key, label) => h("input", { type: "search", "aria-label": label, placeholder: label, value: state.filters[key], oninput: (event) => { state.filters[key] = event.target.value.toLowerCase(); draw(); } });
  const outcome = h("select", { "aria-label": "Outcome", onchange: () => { state.filters.status = outcome.value; draw(); } }, [["", "Any outcome"], ["ok", "ok"], ["error", "errors"], ["cancelled", "cancelled"]].map(([value, label]) => h("option", { value }, label)));
  outcome.value = state.filters.status;
  const from = h("select", { "aria-label": "Program", onchange: () => { state.filters.from = from.value; draw(); } }, [["", "Any program"], ["here", "This program"], ["elsewhere", "Other programs"]].map(([value, label]) => h("option", { value }, label)));
  from.value = state.filters.from;
  const pause = h("button", { type: "button", onclick: () => { state.paused = !state.paused; state.paused ? rest() : listen(); draw(); } });
  const clear = h("button", { type: "button", onclick: () => { state.rows = []; state.skipped = 0; draw(); } }, "Clear");

  const fits = (row) => (!state.filters.tool || (row.tool ?? "").toLowerCase().includes(state.filters.tool)) && (!state.filters.user || (row.user_id ?? "nobody").toLowerCase().includes(state.filters.user)) && (!state.filters.status || row.status === state.filters.status) && (!state.filters.from || (state.filters.from === "elsewhere") === Boolean(row.elsewhere));

  const made = new Map(); // the elements of rows, since most of them stay from one draw to the next
  function item(row, longest, depth) {
    const known = made.get(row);
    if (known && known.longest === longest && known.depth === depth) return known.element;
    const key = idOf(row) + row.started_at;
    const details = h("details", { class: `call ${row.status}`, open: state.open.has(key) },
      h("summary", {}, h("span", { class: "when" }, time(row.started_at)), h("span", { class: `depth-${Math.min(depth, 4)} tool` }, depth ? "↳ " : "", text(row.tool ?? "not a call"), row.guards.some((one) => one.asked.length) && h("span", { class: "mark", title: "a guard asked a person before it ran" }, "asked"), row.elsewhere && [" ", h("span", { class: "mark", title: "called by another program" }, "other program, ", text(row.channel ?? "?"))]), h("span", { class: `outcome ${row.status}` }, code(row)), waterfall(row, longest), h("span", { class: "took" }, ms(row.duration_ms)), text(row.user_id ?? "nobody", "span", { class: "quiet user" })));
    const openIt = () => details.open && details.childElementCount < 2 && details.append(detail(row));
    details.addEventListener("toggle", () => { details.open ? state.open.add(key) : state.open.delete(key); openIt(); });
    openIt();
    const element = h("li", {}, details);
    made.set(row, { element, longest, depth });
    return element;
  }

  function draw() {
    const rows = state.rows.filter(fits).slice(0, SHOWN);
    const ids = new Set(rows.map(idOf));
    const below = new Map();
    const above = (row) => (row.parent_id && row.parent_id !== row.request_id && ids.has(`${row.session} ${row.parent_id}`) ? `${row.session} ${row.parent_id}` : null);
    for (const row of rows) if (above(row)) below.set(above(row), [...(below.get(above(row)) ?? []), row]);
    const totalOf = (row) => STAGES.reduce((all, stage) => all + (row.timings[stage] ?? 0), 0);
    const flat = [];
    const placed = new Set(); // each once, whatever ids callers chose
    const put = (row, depth, longest) => {
      if (placed.has(row)) return;
      placed.add(row);
      flat.push(item(row, longest, depth));
      for (const one of (below.get(idOf(row)) ?? []).toReversed()) put(one, depth + 1, longest);
    };
    for (const row of rows) if (!above(row)) put(row, 0, totalOf(row));
    for (const row of rows) put(row, 0, totalOf(row)); // those that stand above each other
    const running = state.running.filter((row) => fits({ ...row, status: state.filters.status })).map((row) => h("li", { class: "call under-way" }, h("span", { class: "when" }, time(row.started_at)), text(row.tool ?? "?", "span", { class: "tool" }), h("span", { class: "outcome" }, "running"), text(row.user_id ?? "nobody", "span", { class: "quiet user" })));
    if (!running.length && !flat.length) arrange(body, [ h("li", { class: "empty" }, state.rows.length ? "No call matches." : state.paused ? "Nothing is recorded while this is paused." : state.audit ? "No call yet. Whatever calls a tool, in this program or in another one of yours, is shown here at once." : "No call yet. Whatever calls a tool of this program is shown here at once.")]);
    else arrange(body, [...running, ...flat]);
    for (const row of made.keys()) if (!placed.has(row)) made.delete(row);
    const missed = state.skipped ? ` · ${state.skipped.toLocaleString("en")} more were too many to show, and are in the counts` : "";
    const others = state.audit?.problem ? ` · calls of other programs cannot be read: ${state.audit.problem}` : "";
    from.hidden = !state.audit;
    note.textContent = state.paused ? "Paused: nothing is recorded." : state.lost ? "No news comes from the program; this goes on when some does." : `${state.underWay} under way${state.audit ? " here" : ""}${missed}${others}`;
    pause.textContent = state.paused ? "Go on" : "Pause";
    const counts = state.counts;
    fill(head, counts && [fact("Calls in the last minute", counts.calls.toLocaleString("en"), bars(counts.per_second, counts.errors_per_second, `${counts.calls} calls in the last minute, ${counts.errors} of them errors`)), fact("Errors", counts.errors.toLocaleString("en")), fact("Half are done in", ms(counts.p50_ms)), fact("95 of 100 in", ms(counts.p95_ms)), counts.slowest.length ? fact("Slowest on the average", h("ol", { class: "slowest" }, counts.slowest.slice(0, 3).map((one) => h("li", {}, text(one.tool), " ", h("span", { class: "quiet" }, ms(one.mean_ms)))))) : null]);
  }
  const fact = (label, value, more) => h("div", { class: "fact" }, h("span", { class: "quiet" }, label), h("b", {}, value), more);

  fill(root, h("h1", {}, "Calls"), head, h("div", { class: "bar" }, filter("tool", "Tool"), filter("user", "User"), outcome, from, pause, clear), note, body);
  state.draw = draw;
  listen();
  draw();
  return () => (state.draw = null);
}
