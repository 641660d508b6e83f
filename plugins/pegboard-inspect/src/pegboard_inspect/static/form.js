// A form of a JSON Schema. What nobody touched is not sent: no null, no empty list, no default that a tool would have
// chosen itself. What a schema says that has no field of its own is written as JSON, so that every value can be given.

import { fill, h, newId, text } from "./dom.js";
import { isNumeral, isObject, isRaw, numeral, parse } from "./json.js";

const MAX_DEPTH = 12;
const MAX_PROPOSED = 20;
const PROPOSE_MS = 150; // after the last key
const LEFT_OUT = undefined;

/** The schema itself: references followed, parts of `allOf` put together. */
export function resolved(schema, root, depth = 0) {
  if (typeof schema !== "object" || schema === null || depth > MAX_DEPTH) return {};
  let found = schema;
  if (typeof schema.$ref === "string" && schema.$ref.startsWith("#")) {
    const steps = schema.$ref.slice(1).split("/").filter(Boolean).map((step) => decodeURIComponent(step).replaceAll("~1", "/").replaceAll("~0", "~"));
    const target = steps.reduce((at, step) => (at && Object.hasOwn(at, step) ? at[step] : undefined), root);
    const { $ref, ...beside } = schema;
    found = { ...resolved(target, root, depth + 1), ...beside };
  }
  if (Array.isArray(found.allOf)) {
    const { allOf, ...beside } = found;
    const parts = [...allOf.map((part) => resolved(part, root, depth + 1)), beside];
    const properties = Object.assign({}, ...parts.map((part) => part.properties));
    const required = [...new Set(parts.flatMap((part) => part.required ?? []))];
    found = Object.assign({}, ...parts);
    if (Object.keys(properties).length) found.properties = properties;
    if (required.length) found.required = required;
  }
  return found;
}

const isNull = (schema) => schema.type === "null" || schema.const === null || (Array.isArray(schema.enum) && schema.enum.every((one) => one === null));

/** The ways that a value may take, without null; and whether null is one. */
function waysOf(schema, root) {
  const many = schema.anyOf ?? schema.oneOf;
  if (Array.isArray(many) && !schema.properties) {
    const { anyOf, oneOf, ...beside } = schema;
    const ways = many.map((one) => resolved(one, root));
    const { title, description, ...rest } = beside;
    return { ways: ways.filter((one) => !isNull(one)).map((one) => ({ ...rest, ...one })), nullable: ways.some(isNull) };
  }
  if (Array.isArray(schema.type)) {
    const types = schema.type.filter((one) => one !== "null");
    const ways = Array.isArray(schema.enum) ? [{ ...schema, type: undefined, enum: schema.enum.filter((one) => one !== null) }] : types.map((type) => ({ ...schema, type }));
    return { ways, nullable: types.length < schema.type.length };
  }
  if (Array.isArray(schema.enum) && schema.enum.includes(null) && schema.enum.length > 1) return { ways: [{ ...schema, enum: schema.enum.filter((one) => one !== null) }], nullable: true };
  return { ways: [schema], nullable: false };
}

const kindOf = (schema) => {
  if ("const" in schema) return "constant";
  if (Array.isArray(schema.enum)) return "choice";
  const type = schema.type ?? (schema.properties ? "object" : undefined);
  if (type === "object") return schema.properties && Object.keys(schema.properties).length ? "group" : "json";
  if (type === "array") return schema.prefixItems || Array.isArray(schema.items) ? "json" : "list";
  if (type === "string") {
    if (schema.contentEncoding === "base64" || schema.format === "byte" || schema.format === "binary") return "file";
    return { date: "date", "date-time": "moment" }[schema.format] ?? "text";
  }
  return { integer: "number", number: "number", boolean: "truth", null: "constant" }[type] ?? "json";
};

/** The names of ways, each its own. */
const namesOf = (ways) => ways.map(nameOf).map((name, place, all) => (all.indexOf(name) === all.lastIndexOf(name) ? name : `${name} (${ways[place].format ?? place + 1})`));

const nameOf = (schema, place) => schema.title ?? { group: "an object", list: "a list", json: "JSON", number: schema.type === "integer" ? "a whole number" : "a number", truth: "true or false", choice: "one of some", text: "text", date: "a date", moment: "a moment", file: "a file", constant: JSON.stringify(schema.const ?? null) }[kindOf(schema)] ?? `way ${place + 1}`;

/** Why a schema has no field but JSON; null: it has one. */
const whyJson = (schema) => {
  if (schema.prefixItems || Array.isArray(schema.items)) return "a list whose places differ";
  if (schema.type === "object" && (schema.patternProperties || isObject(schema.additionalProperties))) return "an object whose keys are for you to choose";
  if (schema.type === "object") return "an object that may have any keys";
  if (schema.anyOf || schema.oneOf || schema.allOf || schema.not || schema.if || schema.dependentSchemas) return "what fits depends on several rules at once";
  return schema.type ? `a form does not know the type ${JSON.stringify(schema.type)}` : "its schema says no type";
};

/** A field: `element`, `get(needed)` (undefined: left out), `set(value)`, `at(steps)`, `focus()`.
 *
 * `needed`: the value is required of an object that is sent. What nobody touched is then what a schema leaves no choice
 * of: its constant or default, an empty list, an object of such values. An object that is optional needs nothing before
 * somebody touches a part of it.
 */
class Field {
  constructor(schema, { root, changed, label, required, depth, propose }) {
    Object.assign(this, { schema, root, changed, label, required, depth, propose, id: newId("field") });
    this.fault = h("p", { class: "fault", id: `${this.id}-fault`, hidden: true });
    this.help = `${this.id}-help`;
  }
  attributes(more = {}) {
    return { id: this.id, "aria-describedby": `${this.help} ${this.fault.id}`, "aria-required": this.required ? "true" : null, ...more };
  }
  control() { return this.input; }
  focus() { this.control()?.focus(); }
  at() { return this; }
  get touched() { return this.get(false) !== LEFT_OUT; }
  left(needed) { return needed && this.schema.default !== undefined ? this.schema.default : LEFT_OUT; }
  untouched() {
    const { default: given } = this.schema;
    return given === undefined ? null : `${this.required ? "if you write nothing" : "left out"}: ${JSON.stringify(given)}`;
  }
  clearFaults() { this.tell(null); }
  tell(words) {
    this.fault.hidden = !words;
    this.fault.textContent = words ?? "";
    this.control()?.setAttribute("aria-invalid", words ? "true" : "false");
  }
}

class TextField extends Field {
  constructor(schema, more) {
    super(schema, more);
    this.value = LEFT_OUT;
    this.input = h("textarea", this.attributes({ rows: 1, dir: "auto", spellcheck: "false", placeholder: this.untouched(), oninput: () => { this.value = this.input.value; this.changed(); } }));
    this.element = this.propose ? [this.input, proposals(this)] : this.input;
  }
  get(needed) { return this.value === LEFT_OUT ? this.left(needed) : this.value; }
  set(value) { this.value = value; this.input.value = value ?? ""; }
  fits(value) { return typeof value === "string"; }
}

/** Values that somebody proposes for a text, as buttons below it: `field.propose(label, value)` promises them. */
function proposals(field) {
  const list = h("div", { class: "proposals", role: "group", "aria-label": `Proposed for ${field.label}` });
  let timer = null;
  let asked = 0;
  const take = (value) => {
    field.input.value = field.value = value;
    field.changed();
    field.focus();
    fill(list);
  };
  const ask = async () => {
    const mine = ++asked;
    let shown;
    try {
      const found = await field.propose(field.label, field.input.value);
      shown = found.filter((one) => one !== field.input.value).slice(0, MAX_PROPOSED).map((one) => h("button", { type: "button", class: "chip", onclick: () => take(one) }, text(one)));
    } catch (problem) { // it is filled in without, too
      shown = text(`Nothing is proposed: ${problem.message}`, "span", { class: "quiet" });
    }
    if (mine === asked) fill(list, shown);
  };
  field.input.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(ask, PROPOSE_MS); });
  field.input.addEventListener("focus", () => list.childElementCount || ask());
  return list;
}

class NumberField extends Field {
  constructor(schema, more) {
    super(schema, more);
    this.input = h("input", this.attributes({ type: "text", inputmode: schema.type === "integer" ? "numeric" : "decimal", autocomplete: "off", placeholder: this.untouched(), oninput: () => this.changed() }));
    this.element = this.input;
  }
  get(needed) {
    const written = this.input.value.trim();
    if (!written) return this.left(needed);
    return isNumeral(written) ? numeral(written) : written; // as text: the program says what it expected there
  }
  set(value) { this.input.value = value === LEFT_OUT ? "" : isRaw(value) ? value.rawJSON : String(value); }
  fits(value) { return typeof value === "number" || isRaw(value); }
}

class ChoiceField extends Field {
  constructor(schema, more, values, labels) {
    super(schema, more);
    this.values = values;
    this.input = h("select", this.attributes({ onchange: () => this.changed() }), h("option", { value: "" }, this.untouched() ?? (!this.required ? "left out" : "const" in schema ? JSON.stringify(schema.const) : "Choose…")), values.map((value, index) => h("option", { value: index }, labels?.[index] ?? (typeof value === "string" ? value : JSON.stringify(value)))));
    this.element = this.input;
  }
  get(needed) { return this.input.value === "" ? this.left(needed) : this.values[Number(this.input.value)]; }
  left(needed) { return needed && "const" in this.schema ? this.schema.const : super.left(needed); }
  set(value) {
    const index = this.values.findIndex((one) => JSON.stringify(one) === JSON.stringify(value));
    this.input.value = value === LEFT_OUT || index < 0 ? "" : String(index);
  }
  fits(value) { return this.values.some((one) => JSON.stringify(one) === JSON.stringify(value)); }
}

class DateField extends Field {
  constructor(schema, more, type) {
    super(schema, more);
    this.type = type;
    this.input = h("input", this.attributes({ type, step: type === "date" ? null : 1, oninput: () => { this.exact = null; this.changed(); } }));
    this.element = this.input;
  }
  get(needed) {
    if (this.exact) return this.exact;
    if (!this.input.value) return this.left(needed);
    return this.type === "date" ? this.input.value : new Date(this.input.value).toISOString().replace(".000Z", "Z");
  }
  set(value) {
    this.exact = null;
    if (value === LEFT_OUT) { this.input.value = ""; return; }
    if (this.type === "date") { this.input.value = value; return; }
    this.exact = value; // as it was written, with its offset, until somebody changes it
    const moment = new Date(value);
    this.input.value = new Date(moment - moment.getTimezoneOffset() * 60000).toISOString().slice(0, 19);
  }
  fits(value) { return typeof value === "string" && (this.type === "date" ? /^\d{4}-\d\d-\d\d$/.test(value) : !Number.isNaN(Date.parse(value))); }
}

class FileField extends Field {
  constructor(schema, more) {
    super(schema, more);
    this.value = LEFT_OUT;
    this.input = h("input", this.attributes({ type: "file", onchange: () => this.take() }));
    this.said = h("span", { class: "quiet" });
    this.element = h("div", {}, this.input, this.said);
  }
  async take() {
    const file = this.input.files[0];
    if (!file) return;
    const url = await new Promise((resolve, reject) => Object.assign(new FileReader(), { onload() { resolve(this.result); }, onerror: reject }).readAsDataURL(file));
    this.value = url.slice(url.indexOf(",") + 1);
    this.said.textContent = ` ${file.size.toLocaleString("en")} bytes`;
    this.changed();
  }
  get() { return this.value; }
  set(value) {
    this.value = value;
    if (value === LEFT_OUT) this.input.value = "";
    this.said.textContent = value === LEFT_OUT ? "" : ` ${value.length.toLocaleString("en")} characters of base64`;
  }
  fits(value) { return typeof value === "string"; }
}

class JsonField extends Field {
  constructor(schema, more, why = null) {
    super(schema, more);
    this.why = why ?? whyJson(schema);
    this.input = h("textarea", this.attributes({ rows: 1, class: "code", spellcheck: "false", placeholder: this.untouched() ?? "JSON", oninput: () => this.changed() }));
    this.element = this.input;
  }
  get(needed) {
    const written = this.input.value.trim();
    if (!written) return this.left(needed);
    try {
      const value = parse(written);
      this.tell(null);
      return value;
    } catch (problem) {
      this.tell(`this is not JSON: ${problem.message}`);
      return LEFT_OUT;
    }
  }
  set(value) { this.input.value = value === LEFT_OUT ? "" : JSON.stringify(value, null, 2); }
  fits() { return true; }
}

class GroupField extends Field {
  constructor(schema, more) {
    super(schema, more);
    this.extra = {};
    this.exact = false; // whether it was given a value, and is to be that value
    this.also = h("p", { class: "help quiet", hidden: true });
    const required = schema.required ?? [];
    const names = Object.keys(schema.properties);
    const ordered = [...names.filter((name) => required.includes(name)), ...names.filter((name) => !required.includes(name))];
    this.fields = new Map(ordered.map((name) => [name, fieldOf(schema.properties[name], { ...this.inner(), label: name, required: required.includes(name) })]));
    const rows = [...this.fields.values()].map((field) => field.row);
    const must = rows.slice(0, required.filter((name) => names.includes(name)).length);
    const may = rows.slice(must.length);
    this.element = h("div", { class: "group" }, alsoOf(schema) && h("p", { class: "help quiet" }, alsoOf(schema)), this.also, must, may.length && must.length && may.length > 6 ? h("details", { class: "optional", open: this.depth === 0 }, h("summary", {}, `${may.length} optional`), may) : may);
  }
  inner() { return { root: this.root, changed: this.changed, depth: this.depth + 1, propose: this.depth ? null : this.propose }; }
  control() { return null; }
  focus() { this.fields.values().next().value?.focus(); }
  get touched() { return this.exact || [...this.fields.values()].some((field) => field.touched); }
  get(needed) {
    if (!needed && !this.touched) return LEFT_OUT;
    const value = { ...this.extra };
    for (const [name, field] of this.fields) {
      const one = field.get(field.required && !this.exact);
      if (one !== LEFT_OUT) Object.defineProperty(value, name, { value: one, enumerable: true, configurable: true, writable: true });
    }
    return value;
  }
  set(value) {
    this.extra = {};
    this.exact = value !== LEFT_OUT;
    for (const field of this.fields.values()) field.set(LEFT_OUT);
    for (const [name, one] of Object.entries(value ?? {})) {
      if (this.fields.has(name)) this.fields.get(name).set(one);
      else Object.defineProperty(this.extra, name, { value: one, enumerable: true, configurable: true, writable: true });
    }
    const others = Object.keys(this.extra);
    this.also.hidden = !others.length;
    this.also.textContent = `Also sent, as written under JSON: ${others.join(", ")}`;
  }
  fits(value) { return isObject(value); }
  at([step, ...rest]) { return step !== undefined && this.fields.has(step) ? this.fields.get(step).at(rest) : this; }
  clearFaults() {
    super.clearFaults();
    for (const field of this.fields.values()) field.clearFaults();
  }
}

class ListField extends Field {
  constructor(schema, more) {
    super(schema, more);
    this.items = [];
    this.list = h("ol", { class: "items" });
    this.add = h("button", { type: "button", "aria-describedby": this.fault.id, onclick: () => { this.append().focus(); this.changed(); } }, `Add to ${this.label}`);
    this.element = h("div", { class: "list" }, this.list, this.add);
  }
  control() { return this.add; }
  append(value) {
    const field = fieldOf(this.schema.items ?? {}, { root: this.root, changed: this.changed, depth: this.depth + 1, required: true, label: `${this.label} ${this.items.length + 1}` });
    const item = h("li", {}, field.row, h("button", { type: "button", class: "leave", "aria-label": `Remove ${this.label} ${this.items.length + 1}`, onclick: () => { this.items = this.items.filter((one) => one !== field); item.remove(); this.changed(); this.add.focus(); } }, "×"));
    field.holder = item;
    this.items.push(field);
    this.list.append(item);
    if (value !== LEFT_OUT) field.set(value);
    return field;
  }
  get touched() { return this.items.length > 0 || Boolean(this.kept); }
  get(needed) {
    if (!this.touched) return needed ? this.left(needed) ?? [] : LEFT_OUT;
    return this.items.map((field) => field.get(true) ?? (field.kind === "text" ? "" : null)); // a list has no places that are left out
  }
  set(value) {
    this.items = [];
    this.list.replaceChildren();
    this.kept = Array.isArray(value) && !value.length;
    for (const one of value ?? []) this.append(one);
  }
  fits(value) { return Array.isArray(value); }
  at([step, ...rest]) { return typeof step === "number" && this.items[step] ? this.items[step].at(rest) : this; }
  clearFaults() {
    super.clearFaults();
    for (const field of this.items) field.clearFaults();
  }
}

/** One of several ways, null among them; the way is chosen first. */
class UnionField extends Field {
  constructor(schema, more, ways, nullable) {
    super(schema, more);
    this.ways = ways;
    this.nullable = nullable;
    this.input = h("select", this.attributes({ onchange: () => { this.choose(this.input.value); this.changed(); } }), h("option", { value: "" }, this.untouched() ?? (this.required ? "Choose…" : "left out")), namesOf(ways).map((name, index) => h("option", { value: index }, name)), nullable && h("option", { value: "null" }, "null"));
    this.body = h("div", { class: "way" });
    this.element = h("div", { class: "union" }, this.input, this.body);
  }
  choose(way) {
    this.input.value = way;
    this.field = way === "" || way === "null" ? null : make(this.ways[Number(way)], { root: this.root, changed: this.changed, depth: this.depth + 1, required: true, label: this.label });
    fill(this.body, this.field && [asJson(this.field), this.field.element, this.field.fault]);
  }
  get touched() { return this.input.value !== ""; }
  get(needed) {
    if (!this.touched) return this.left(needed);
    return this.input.value === "null" ? null : this.field.get(true);
  }
  set(value) {
    if (value === LEFT_OUT) return this.choose("");
    if (value === null && this.nullable) return this.choose("null");
    const index = this.ways.findIndex((way) => fitsWay(way, value, this.root));
    this.choose(String(Math.max(0, index)));
    return this.field.set(value);
  }
  fits(value) { return (value === null && this.nullable) || this.ways.some((way) => fitsWay(way, value, this.root)); }
  at(steps) { return this.field && steps.length ? this.field.at(steps) : this; }
  clearFaults() {
    super.clearFaults();
    this.field?.clearFaults();
  }
}

/** Whether a value is of that way, as far as its first look tells. */
function fitsWay(schema, value, root) {
  if ("const" in schema) return JSON.stringify(schema.const) === JSON.stringify(value);
  if (Array.isArray(schema.enum)) return schema.enum.some((one) => JSON.stringify(one) === JSON.stringify(value));
  const kind = kindOf(schema);
  if (kind === "group") {
    if (!isObject(value)) return false;
    return (schema.required ?? []).every((name) => Object.hasOwn(value, name)) && Object.entries(schema.properties).every(([name, one]) => !Object.hasOwn(value, name) || !("const" in resolved(one, root)) || resolved(one, root).const === value[name]);
  }
  if (kind === "list") return Array.isArray(value);
  if (kind === "number") return typeof value === "number" || isRaw(value);
  if (kind === "truth") return typeof value === "boolean";
  if (kind === "json") return schema.type === "object" ? isObject(value) : schema.type === "array" ? Array.isArray(value) : true;
  return typeof value === "string";
}

function make(schema, more) {
  const { ways, nullable } = waysOf(schema, more.root);
  // Null says what leaving out says, as far as nearly all tools go; whoever needs it writes it as JSON.
  if (ways.length > 1 || (nullable && ways.length && more.required)) return new UnionField(schema, more, ways, nullable);
  const one = ways[0] ?? { const: null };
  const kind = kindOf(one);
  if (more.depth > MAX_DEPTH && kind !== "constant") return Object.assign(new JsonField(one, more, "it lies too deep for a form"), { kind: "json" });
  if (kind === "constant") return new ChoiceField(one, more, [one.const ?? null]);
  if (kind === "choice") return new ChoiceField(one, more, one.enum, one.enumNames);
  if (kind === "truth") return new ChoiceField(one, more, [true, false], ["true", "false"]);
  if (kind === "date") return new DateField(one, more, "date");
  if (kind === "moment") return new DateField(one, more, "datetime-local");
  const made = new { group: GroupField, list: ListField, number: NumberField, text: TextField, file: FileField, json: JsonField }[kind](one, more);
  made.kind = kind;
  return made;
}

const bounds = (schema) => {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, minLength, maxLength, minItems, maxItems, pattern, multipleOf } = schema;
  return [minimum !== undefined && `from ${minimum}`, exclusiveMinimum !== undefined && `above ${exclusiveMinimum}`, maximum !== undefined && `up to ${maximum}`, exclusiveMaximum !== undefined && `below ${exclusiveMaximum}`, multipleOf !== undefined && `a multiple of ${multipleOf}`, minLength !== undefined && `at least ${minLength} characters`, maxLength !== undefined && `at most ${maxLength} characters`, minItems !== undefined && `at least ${minItems}`, maxItems !== undefined && `at most ${maxItems}`, pattern !== undefined && `like ${pattern}`].filter(Boolean).join(", ");
};

/** What a group allows beside its fields; null: nothing. */
const alsoOf = (schema) => {
  if (schema.anyOf || schema.oneOf || schema.not || schema.if || schema.dependentSchemas || schema.dependentRequired) return "More rules hold than fields can show; a dry run checks them all.";
  return schema.patternProperties || isObject(schema.additionalProperties) ? "Other keys can be given under JSON." : null;
};

/** What is said of a field that is JSON. */
const asJson = (field) => field.why && h("p", { class: "help quiet" }, `As JSON: ${field.why}.`);

/** A field with its label, its help, its fault, and what leaves it out again. */
function fieldOf(given, more) {
  const schema = resolved(given, more.root);
  let field = make(schema, more);
  const row = h("div", { class: "row" });
  const out = h("button", { type: "button", class: "leave", hidden: true, "aria-label": `Leave out ${more.label}`, title: "Leave it out", onclick: () => { holder.set(LEFT_OUT); holder.kept = false; more.changed(); holder.focus(); } }, "×");
  const draw = () => {
    const isGroup = field instanceof GroupField || field instanceof ListField;
    const help = [schema.description && text(schema.description), bounds(schema) && h("span", { class: "quiet" }, bounds(schema)), field.why && h("span", { class: "quiet" }, `As JSON: ${field.why}.`)].filter(Boolean);
    const label = [text(more.label, "b"), more.required && h("span", { class: "must", title: "required" }, " *"), schema.title && schema.title.toLowerCase().replaceAll(" ", "_") !== String(more.label).toLowerCase() && text(schema.title, "span", { class: "quiet" })];
    const head = h(isGroup ? "div" : "label", { class: "label", for: isGroup ? null : field.id, id: `${field.id}-label` }, label);
    if (isGroup) {
      row.setAttribute("role", "group");
      row.setAttribute("aria-labelledby", `${field.id}-label`);
    }
    fill(row, h("div", { class: "head" }, head, out), help.length ? h("p", { class: "help", id: field.help }, help.map((one, index) => [index ? " · " : null, one])) : h("span", { id: field.help, hidden: true }), field.element, field.fault);
  };
  // The form stays in step with any JSON: a value that its field cannot show is written as JSON instead.
  const holder = {
    get row() { return row; },
    get kind() { return field.kind; },
    required: more.required,
    get touched() { return field.touched; },
    get: (needed) => { out.hidden = more.required || !field.touched; return field.get(needed); },
    set: (value) => {
      const fits = value === LEFT_OUT || field.fits(value);
      if (!fits || (field.instead && value === LEFT_OUT)) {
        field = fits ? make(schema, more) : Object.assign(new JsonField(schema, more, "its field cannot show this value"), { instead: true });
        draw();
      }
      field.set(value);
      out.hidden = more.required || value === LEFT_OUT;
    },
    set kept(value) { field.kept = value; },
    at: (steps) => field.at(steps),
    focus: () => field.focus(),
    clearFaults: () => field.clearFaults(),
  };
  draw();
  return holder;
}

/** `items[2]["odd key"].qty` as steps, as errors have paths. */
export function steps(path) {
  const found = [];
  for (const match of path.matchAll(/\[(\d+)\]|\[("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')\]|\.?([^.[\]]+)/g)) {
    if (match[1] !== undefined) found.push(Number(match[1]));
    else if (match[2] !== undefined) found.push(match[2][0] === '"' ? JSON.parse(match[2]) : match[2].slice(1, -1));
    else found.push(match[3]);
  }
  return found;
}

/** A form for the arguments of a tool: `element`, `json()`, `set(value)`, `tell(faults)`, `focus()`.
 *
 * `propose(name, value)`: promises values of a text that begin so.
 */
export class Form {
  constructor(schema, changed = () => {}, { propose = null } = {}) {
    const top = resolved(schema, schema);
    const isPlain = kindOf(top) === "group";
    const more = { root: schema, changed: () => this.changed(), depth: 0, required: true, label: "arguments", propose };
    this.notify = changed;
    this.field = isPlain ? new GroupField(top, more) : kindOf(top) === "json" && Object.keys(top.properties ?? {}).length === 0 && !top.additionalProperties && !top.patternProperties && !top.anyOf && !top.oneOf ? null : new JsonField(top, more);
    this.extra = null;
    this.rest = h("p", { class: "fault", hidden: true, role: "alert" });
    this.element = h("div", { class: "form" }, this.field ? [asJson(this.field), this.field.element, this.field.fault] : h("p", { class: "quiet" }, "It takes no arguments."), this.rest);
  }
  changed() { this.extra = null; this.notify(); }
  value() { return this.extra ?? this.field?.get(true) ?? {}; }
  json(indent) { return JSON.stringify(this.value(), null, indent); }
  set(value) {
    const shows = this.field && (!(this.field instanceof GroupField) || isObject(value));
    this.extra = shows ? null : value;
    this.field?.set(shows ? value : undefined);
    this.field?.get(true);
  }
  tell(faults) {
    this.field?.clearFaults();
    const left = [];
    let first = null;
    for (const fault of faults) {
      const field = this.field?.at(steps(fault.path ?? ""));
      const words = `expected ${fault.expected}, got ${fault.got}${fault.hint ? ` (${fault.hint})` : ""}`;
      if (field && field !== this.field) {
        const last = steps(fault.path).at(-1);
        const isOwn = field.label === last || typeof last === "number" || !(field instanceof GroupField);
        field.tell(isOwn ? words : `${last}: ${words}`);
        first ??= field;
      } else left.push(fault.path ? `${fault.path}: ${words}` : words);
    }
    this.rest.hidden = !left.length;
    this.rest.textContent = left.join("; ");
    (first ?? null)?.focus();
  }
  focus() { this.field?.focus(); }
}
