// A result as a person reads it: each kind of content in its way, data as a tree, an error with what to do.

import { h, rest, tabs, text, tree } from "./dom.js";
import { linkTo, markdown } from "./markdown.js";

const PICTURES = /^image\/(png|jpeg|gif|webp|avif|bmp|svg\+xml)$/;
const SOUNDS = /^audio\/[a-z0-9.+-]+$/;
const MAX_TEXT = 20000;

function bytesOf(base64) {
  const binary = atob(base64);
  return Uint8Array.from(binary, (sign) => sign.charCodeAt(0));
}

/** A link that saves bytes; they are never shown as a page, whatever they say that they are. */
function saving(name, data) {
  const link = h("a", { href: "#", class: "file" }, `Save ${name}`);
  link.addEventListener("click", (event) => {
    event.preventDefault();
    const url = URL.createObjectURL(new Blob([data()], { type: "application/octet-stream" }));
    const hidden = h("a", { href: url, download: name });
    hidden.click();
    setTimeout(() => URL.revokeObjectURL(url), 10000);
  });
  return link;
}

function long(value) {
  const box = h("pre", { class: "text", dir: "auto", tabindex: 0 }, value.slice(0, MAX_TEXT));
  return value.length <= MAX_TEXT ? box : h("div", {}, box, rest(value, MAX_TEXT, box));
}

const isMarkdown = (kind) => /^text\/(x-)?markdown(;|$)/i.test(kind ?? "");

/** A text by its media type: Markdown as it is meant, and as it is written. */
function words(value, kind) {
  if (!isMarkdown(kind)) return long(value);
  return tabs("The text", [["Read", () => markdown(value, { below: 1 })], ["As written", () => long(value)]]);
}

function block(one) {
  if (one.type === "text") return words(one.text, one.mimeType);
  if (one.type === "image" && PICTURES.test(one.mimeType)) return h("figure", {}, h("img", { src: `data:${one.mimeType};base64,${one.data}`, alt: `An image of type ${one.mimeType}` }), h("figcaption", {}, saving("image", () => bytesOf(one.data))));
  if (one.type === "audio" && SOUNDS.test(one.mimeType)) return h("figure", {}, h("audio", { controls: true, src: `data:${one.mimeType};base64,${one.data}` }), h("figcaption", {}, saving("audio", () => bytesOf(one.data))));
  if (one.type === "resource_link") return h("p", { class: "resource" }, h("span", { class: "quiet" }, "A resource: "), one.name && [text(one.name, "b"), " "], linkTo(one.uri), " ", text(one.mimeType, "span", { class: "quiet" }));
  if (one.type === "resource") {
    const { uri, name, mimeType, text: held, blob } = one.resource;
    const label = (name || uri || "file").split("/").pop() || "file";
    return h("div", { class: "resource" }, h("p", {}, h("span", { class: "quiet" }, "A file: "), text(name || uri || "without a name", "b"), " ", text(mimeType, "span", { class: "quiet" }), " ", saving(label, () => (held !== undefined ? held : bytesOf(blob)))), held !== undefined && words(held, mimeType));
  }
  return saving(one.type, () => bytesOf(one.data ?? ""));
}

export function resultView(result, { readOn = null } = {}) {
  const { error } = result;
  const head = h("p", { class: `status ${error ? "bad" : "good"}`, role: "status" }, h("b", {}, error ? error.code : "done"), ` in ${ms(result.duration_ms)}`);
  const parts = [];
  if (error) parts.push(text(error.message, "p", { class: "message" }), error.details && Object.keys(error.details).length ? tree(error.details, { open: 1, name: "details" }) : null);
  else if (!result.content.length) parts.push(h("p", { class: "quiet" }, "It shows nothing."));
  else parts.push(...result.content.map(block));
  const cut = result.details?.cut;
  if (readOn && cut?.id && cut.pages > 1) parts.push(h("button", { type: "button", onclick: () => readOn(cut) }, `Read page 2 of ${cut.pages}`));
  const list = [["Result", () => h("div", { class: "blocks" }, parts)]];
  if (result.data) list.push(["Data", () => tree(result.data, { open: 3 })]);
  list.push(["JSON", () => long(JSON.stringify(result, null, 2))]);
  return h("section", { class: "result" }, head, list.length > 1 ? tabs("The result", list) : list[0][1]());
}

/** Milliseconds as people say them. */
export function ms(value) {
  if (value === null || value === undefined) return "–";
  if (value >= 1000) return `${(value / 1000).toFixed(value >= 10000 ? 0 : 1)} s`;
  return value >= 10 ? `${Math.round(value)} ms` : value >= 0.1 ? `${value.toFixed(1)} ms` : `${Math.round(value * 1000)} µs`;
}
