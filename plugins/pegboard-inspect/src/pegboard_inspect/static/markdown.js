// Markdown as elements. No text is ever read as HTML, so that there is nothing to sanitise: what is not Markdown is text.
//
// It reads what models and tools write: paragraphs, headings, lists, quotes, code, tables, rules, emphasis, links. Links are
// clickable where they lead to http or https, and are shown with their target; an image is a link to it, and nothing is
// loaded. Characters that turn or hide what stands beside them are shown as their number. Every step looks at a bounded
// number of characters, so that no text takes longer than its length says.

import { h, plain, say } from "./dom.js";

const MAX_TEXT = 200_000; // a longer one is shown as it is written
const MAX_DEPTH = 12; // of lists and quotes
const MAX_OPEN = 100; // signs of emphasis, or brackets, that wait for their other half
const MAX_TARGET = 300; // characters of a target that are shown

const FENCE = /^ {0,3}(`{3,}|~{3,})([^`]*)$/;
const HEADING = /^ {0,3}(#{1,6})(?=[ \t]|$)/;
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^( {0,3})([-*+]|\d{1,9}[.)])(?: {1,4}(?=\S)| *$| (?= {4}))/;
const DELIMITERS = /^ {0,3}\|?[ \t]{0,20}:?-+:?[ \t]{0,20}(?:\|[ \t]{0,20}:?-+:?[ \t]{0,20})*\|?[ \t]{0,20}$/;
const SPECIAL = /[\\`*_~[\]!<\n]|https?:\/\//giu;
const BARE = /https?:\/\/[^\s<>"'`]{1,2000}/iy;
const ANGLED = /<(https?:\/\/[^\s<>]{1,2000})>/iy;
const TARGET = /\([ \t\n]{0,9}(?:<([^<>\n]{0,2000})>|([^\s()]{0,2000}(?:\([^\s()]{0,500}\)[^\s()]{0,500}){0,3}))(?:[ \t\n]{1,9}(?:"([^"]{0,500})"|'([^']{0,500})'|\(([^()]{0,500})\)))?[ \t\n]{0,9}\)/y;
const PUNCTUATION = /[\p{P}\p{S}]/u;

/** The text as elements, with headings below the level `below`. */
export function markdown(source, { below = 2 } = {}) {
  const root = h("div", { class: "markdown" });
  const words = String(source ?? "").replace(/\r\n?/g, "\n");
  if (words.length > MAX_TEXT) root.append(h("pre", { class: "text", dir: "auto", tabindex: 0 }, words));
  else for (const one of new Blocks(below).read(words.split("\n"), 0)) root.append(one);
  root.dir = "auto"; // last: with each child that comes, a browser looks through all of them for the direction
  return root;
}

const indentOf = (line) => line.length - line.trimStart().length;
const isRule = (line) => indentOf(line) < 4 && /^(-{3,}|\*{3,}|_{3,})$/.test(line.replace(/[ \t]/g, ""));
const untabbed = (line) => (line.includes("\t") ? line.replace(/^[ \t]+/, (spaces) => spaces.replaceAll("\t", "    ")) : line);

class Blocks {
  constructor(below) {
    this.level = this.below = below;
  }

  /** Lines as block elements; where they are `tight` (a list's), paragraphs as what is in them. */
  read(lines, depth, tight = false) {
    const found = [];
    let paragraph = [];
    const close = () => {
      if (!paragraph.length) return;
      const inside = inline(paragraph.join("\n"));
      paragraph = [];
      if (tight) for (const one of inside) found.push(one);
      else found.push(h("p", {}, inside));
    };
    let at = 0;
    while (at < lines.length) {
      const line = untabbed(lines[at]);
      const next = this.special(lines, at, line, depth, paragraph.length > 0);
      if (next === null) {
        const underline = paragraph.length && /^ {0,3}(=+|-+)[ \t]*$/.exec(line);
        if (underline) {
          const words = paragraph.join("\n");
          paragraph = [];
          found.push(this.heading(underline[1][0] === "=" ? 1 : 2, words));
        } else if (line.trim()) paragraph.push(line.trimStart());
        else close();
        at += 1;
      } else {
        close();
        found.push(...next.made);
        at = next.at;
      }
    }
    close();
    return found;
  }

  /** The block that begins at a line and is not a paragraph, and where it ends; null: there is none. */
  special(lines, at, line, depth, inParagraph) {
    let match;
    if ((match = FENCE.exec(line))) return this.fence(lines, at, match);
    if (indentOf(line) >= 4 && !inParagraph && line.trim()) return this.indented(lines, at);
    if ((match = HEADING.exec(line))) return { made: [this.heading(match[1].length, untrailed(line.slice(match[0].length).trim()))], at: at + 1 };
    if (isRule(line) && !(inParagraph && line.trimStart()[0] === "-")) return { made: [h("hr")], at: at + 1 };
    if (depth >= MAX_DEPTH) return null;
    if (QUOTE.test(line)) return this.quote(lines, at, depth);
    if ((match = ITEM.exec(line)) && !(inParagraph && (match[0] === line || (/\d/.test(match[2]) && parseInt(match[2], 10) !== 1)))) return this.list(lines, at, match, depth);
    if (line.includes("|") && at + 1 < lines.length && DELIMITERS.test(lines[at + 1])) return this.table(lines, at);
    return null;
  }

  heading(wanted, words) {
    this.level = Math.min(6, this.below + wanted, this.level + 1); // none is left out, whatever was written
    return h(`h${this.level}`, { class: `level-${wanted}` }, inline(words));
  }

  fence(lines, at, [, fence, info]) {
    const end = new RegExp(`^ {0,3}\\${fence[0]}{${Math.min(fence.length, 1000)},}[ \\t]*$`);
    const indent = indentOf(lines[at]);
    const inside = [];
    for (at += 1; at < lines.length && !end.test(lines[at]); at += 1) inside.push(indent ? lines[at].slice(Math.min(indent, indentOf(lines[at]))) : lines[at]);
    return { made: [code(inside.join("\n"), info.trim())], at: at + 1 };
  }

  indented(lines, at) {
    const inside = [];
    for (; at < lines.length && (!lines[at].trim() || indentOf(untabbed(lines[at])) >= 4); at += 1) inside.push(untabbed(lines[at]).slice(4));
    return { made: [code(inside.join("\n").trimEnd(), "")], at };
  }

  quote(lines, at, depth) {
    const inside = [];
    for (; at < lines.length && lines[at].trim(); at += 1) {
      if (!QUOTE.test(lines[at]) && (begins(lines[at]) || ITEM.test(lines[at]))) break;
      inside.push(lines[at].replace(QUOTE, ""));
    }
    return { made: [h("blockquote", {}, this.read(inside, depth + 1))], at };
  }

  list(lines, at, first, depth) {
    const kind = (marker) => marker.at(-1);
    const items = [];
    let isLoose = false;
    let match = first;
    while (match && kind(match[2]) === kind(first[2])) {
      const own = match[1].length;
      const content = match[0].length + (match[0].trimEnd() === untabbed(lines[at]).trimEnd() && !/ $/.test(match[0]) ? 1 : 0);
      const inside = [untabbed(lines[at]).slice(match[0].length)];
      let isBlank = false;
      for (at += 1; at < lines.length; at += 1) {
        const line = untabbed(lines[at]);
        const indent = indentOf(line);
        if (!line.trim()) isBlank = true;
        else if (indent >= content || indent >= own + 2) isLoose ||= isBlank && !ITEM.test(line.slice(Math.min(indent, content)));
        else if (isBlank || begins(line) || ITEM.test(line)) break;
        if (line.trim()) isBlank = false;
        inside.push(line.slice(Math.min(indent, content)));
      }
      items.push(inside);
      match = at < lines.length ? ITEM.exec(untabbed(lines[at])) : null;
      if (match && isRule(lines[at])) match = null;
      isLoose ||= isBlank && match !== null && kind(match[2]) === kind(first[2]);
    }
    const isNumbered = /\d/.test(first[2]);
    const made = items.map((inside) => {
      const box = /^\[([ xX])\] (?=\S)/.exec(inside[0]);
      if (box) inside[0] = inside[0].slice(box[0].length);
      const done = box && h("span", { role: "img", "aria-label": box[1] === " " ? "to do" : "done" }, box[1] === " " ? "☐ " : "☑ ");
      return h("li", { class: box ? "task" : null }, done, this.read(inside, depth + 1, !isLoose));
    });
    return { made: [h(isNumbered ? "ol" : "ul", { start: isNumbered ? parseInt(first[2], 10) : null }, made)], at };
  }

  table(lines, at) {
    const heads = cells(lines[at]);
    const sides = cells(lines[at + 1]).map((one) => (one.endsWith(":") ? (one.startsWith(":") ? "center" : "end") : null));
    if (heads.length !== sides.length) return null;
    const rows = [];
    for (at += 2; at < lines.length && lines[at].trim() && !begins(lines[at]); at += 1) rows.push(cells(lines[at]));
    const row = (tag, parts) => h("tr", {}, heads.map((_, place) => h(tag, { class: sides[place], scope: tag === "th" ? "col" : null }, inline(parts[place] ?? ""), place === heads.length - 1 && parts.length > heads.length ? ` | ${parts.slice(heads.length).join(" | ")}` : null)));
    return { made: [h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "A table" }, h("table", {}, h("thead", {}, row("th", heads)), h("tbody", {}, rows.map((one) => row("td", one)))))], at };
  }
}

/** Whether a line begins something that ends a paragraph before it. */
const begins = (line) => FENCE.test(line) || HEADING.test(line) || QUOTE.test(line) || isRule(line);

function untrailed(words) {
  let end = words.length;
  while (end && words[end - 1] === "#") end -= 1;
  return end === 0 || words[end - 1] === " " ? words.slice(0, end).trimEnd() : words;
}

/** The cells of a row: parted by `|` that no backslash stands before. */
function cells(line) {
  const found = [""];
  const row = line.trim().replace(/^\|/, "");
  for (let at = 0; at < row.length; at += 1) {
    if (row[at] === "\\" && row[at + 1] === "|") found[found.length - 1] += row[(at += 1)];
    else if (row[at] === "|") found.push("");
    else found[found.length - 1] += row[at];
  }
  if (found.length > 1 && !found.at(-1).trim()) found.pop();
  return found.map((one) => one.trim());
}

function code(words, info) {
  const copy = h("button", { type: "button", class: "link", onclick: () => navigator.clipboard.writeText(words).then(() => say("Copied"), () => say("The browser did not let it be copied")) }, "Copy");
  return h("div", { class: "fence" }, h("div", { class: "fence-head" }, h("span", {}, info), copy), h("pre", { class: "text", dir: "ltr", tabindex: 0 }, h("code", {}, words)));
}

// -- inside of a block

/** Where a link may lead: an address of the web; null: nowhere. One with a user's name in it reads as if it led there. */
function webAddress(target) {
  if (!/^https?:\/\//i.test(target)) return null;
  try {
    const url = new URL(target);
    return url.username || url.password ? null : url;
  } catch {
    return null;
  }
}

/** Whether a text says where the link leads: letters of other scripts may look like those of the host. */
const says = (words, target, url) => words === url.href || (words === target && target.toLowerCase().startsWith(`${url.protocol}//${url.host}`));

/** An address as a link, if it is one of the web. */
export const linkTo = (uri) => link([String(uri)], String(uri));

const shortened = (target) => (target.length > MAX_TARGET ? `${target.slice(0, MAX_TARGET)}…` : target);

/** A link with its target; one that leads nowhere is what it says, and its target as text. */
function link(inside, target, title, kind = null) {
  const url = webAddress(target);
  const address = url?.href;
  const words = inside.map((one) => (typeof one === "string" ? one : one.textContent)).join("");
  const nodes = inside.flatMap((one) => (typeof one === "string" ? plain(one) : one.matches("a, .link-with-target") || one.querySelector("a") ? plain(one.textContent) : [one])); // no link inside of a link
  const about = title ? plain(` ${title}`) : [];
  const label = [kind && h("span", { class: "quiet" }, kind), nodes.length && words.trim() ? nodes : plain(shortened(address ?? target))];
  const made = address ? h("a", { href: address, target: "_blank", rel: "noopener noreferrer nofollow", dir: "auto" }, label) : h("span", { dir: "auto" }, label);
  const isSaid = !words.trim() || (url ? says(words, target, url) : words === target);
  if (isSaid && address && !about.length) return made;
  return h("span", { class: "link-with-target" }, made, isSaid ? null : h("span", { class: "target", dir: "ltr" }, " (", shortened(address ?? target), ")"), about.length ? h("span", { class: "quiet" }, about) : null);
}

/** The text of a block as nodes. */
function inline(words) {
  return new Inline(words).read();
}

/** Nodes whose signs found no other half: those are text. */
const settled = (nodes) => nodes.flatMap((one) => (typeof one === "string" ? plain(one) : one.sign ? [one.sign.repeat(one.length)] : one.bracket ? [one.bracket] : [one]));

class Inline {
  constructor(words) {
    this.words = words;
    this.out = []; // strings, elements, and the signs that wait for their other half: each stays at its `place` there
    this.marks = []; // of emphasis
    this.brackets = [];
    this.ticks = new Map(); // where runs of so many backticks are
    for (const { 0: run, index } of words.matchAll(/`+/g)) {
      if (!this.ticks.has(run.length)) this.ticks.set(run.length, []);
      this.ticks.get(run.length).push(index);
    }
    this.ticks.forEach((places) => places.reverse());
  }

  read() {
    const { words } = this;
    let at = 0;
    for (;;) {
      SPECIAL.lastIndex = at;
      const found = SPECIAL.exec(words);
      this.text(words.slice(at, found ? found.index : words.length));
      if (!found) break;
      at = this.special(found[0][0].toLowerCase(), found.index);
    }
    return settled(this.out);
  }

  text(words) {
    if (!words) return;
    if (typeof this.out.at(-1) === "string") this.out.push(this.out.pop() + words);
    else this.out.push(words);
  }

  /** What begins with a sign; where to go on. */
  special(sign, at) {
    const { words } = this;
    switch (sign) {
      case "\n": return this.lineEnd(at);
      case "\\":
        if (words[at + 1] === "\n") return this.lineEnd(at + 1);
        if (at + 1 < words.length && /[!-/:-@[-`{-~]/.test(words[at + 1])) {
          this.text(words[at + 1]);
          return at + 2;
        }
        break;
      case "`": return this.ticked(at);
      case "*": case "_": case "~": return this.emphasis(sign, at);
      case "[": return this.open("[", at);
      case "!":
        if (words[at + 1] === "[") return this.open("![", at);
        break;
      case "]": return this.close(at);
      case "<": {
        const found = matchAt(ANGLED, words, at);
        if (found) return this.push(link([found[1]], found[1]), at + found[0].length);
        break;
      }
      case "h": return this.bare(at);
    }
    this.text(words[at]);
    return at + 1;
  }

  push(node, at) {
    this.out.push(node);
    return at;
  }

  lineEnd(at) {
    if (typeof this.out.at(-1) === "string") this.out.push(this.out.pop().trimEnd());
    return this.push(h("br"), at + 1);
  }

  ticked(at) {
    const { words } = this;
    let end = at;
    while (words[end] === "`") end += 1;
    const places = this.ticks.get(end - at) ?? [];
    while (places.length && places.at(-1) < end) places.pop();
    if (!places.length) {
      this.text(words.slice(at, end));
      return end;
    }
    const close = places.pop();
    let inside = words.slice(end, close).replaceAll("\n", " ");
    if (/^ .*[^ ].* $/.test(inside.slice(0, 2000)) && inside.length < 2000) inside = inside.slice(1, -1);
    return this.push(h("code", {}, inside), close + end - at);
  }

  bare(at) {
    const [found] = matchAt(BARE, this.words, at) ?? [""];
    let end = found.length;
    while (end && (/[.,;:!?*_~\]}|\\]/.test(found[end - 1]) || (found[end - 1] === ")" && !found.slice(0, end).includes("(")))) end -= 1;
    const target = found.slice(0, end);
    if (!webAddress(target)) {
      this.text(this.words[at]);
      return at + 1;
    }
    return this.push(link([target], target), at + end);
  }

  emphasis(sign, at) {
    const { words } = this;
    let end = at;
    while (words[end] === sign) end += 1;
    const before = at ? words[at - 1] : " ";
    const after = words[end] ?? " ";
    const [spaceBefore, spaceAfter] = [/\s/.test(before), /\s/.test(after)];
    const [signBefore, signAfter] = [PUNCTUATION.test(before), PUNCTUATION.test(after)];
    const left = !spaceAfter && (!signAfter || spaceBefore || signBefore);
    const right = !spaceBefore && (!signBefore || spaceAfter || signAfter);
    const mayOpen = sign === "_" ? left && (!right || signBefore) : left;
    const mayClose = sign === "_" ? right && (!left || signAfter) : right;
    const size = end - at;
    let length = size;
    if (sign === "~" && length !== 2) {
      this.text(words.slice(at, end));
      return end;
    }
    while (mayClose && length) {
      // The rule of three of CommonMark: `*a**b*` is one emphasis.
      const place = this.marks.findLastIndex((one) => one.sign === sign && !((one.mayClose || mayOpen) && (one.size + size) % 3 === 0 && (one.size % 3 || size % 3)));
      if (place < 0) break;
      const mark = this.marks[place];
      const both = mark.length >= 2 && length >= 2 ? 2 : 1;
      this.marks.length = place + 1; // those between them are text
      this.brackets = this.brackets.filter((one) => one.place < mark.place);
      const inside = settled(this.out.splice(mark.place + 1));
      mark.length -= both;
      length -= both;
      if (!mark.length) {
        this.marks.pop();
        this.out.pop();
      }
      this.out.push(h(sign === "~" ? "del" : both === 2 ? "strong" : "em", {}, inside));
    }
    if (length && mayOpen && this.marks.length < MAX_OPEN) {
      const mark = { sign, size, length, mayClose, place: this.out.length };
      this.marks.push(mark);
      this.out.push(mark);
    } else this.text(sign.repeat(length));
    return end;
  }

  open(bracket, at) {
    if (this.brackets.length < MAX_OPEN) {
      const one = { bracket, place: this.out.length };
      this.brackets.push(one);
      this.out.push(one);
    } else this.text(bracket);
    return at + bracket.length;
  }

  close(at) {
    const opened = this.brackets.pop();
    const found = opened && matchAt(TARGET, this.words, at + 1);
    if (!found) {
      this.text("]");
      return at + 1;
    }
    this.marks = this.marks.filter((one) => one.place < opened.place);
    const inside = settled(this.out.splice(opened.place + 1));
    this.out.pop();
    const target = found[1] ?? found[2] ?? "";
    const title = found[3] ?? found[4] ?? found[5] ?? "";
    return this.push(link(inside, target, title, opened.bracket === "![" ? "image: " : null), at + 1 + found[0].length);
  }
}

function matchAt(expression, words, at) {
  expression.lastIndex = at;
  return expression.exec(words);
}
