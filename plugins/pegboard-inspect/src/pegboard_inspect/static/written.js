// A value that is filled in by a form, or written as JSON: each follows the other.

import { h, tabs } from "./dom.js";
import { Form } from "./form.js";
import { parse } from "./json.js";

export class Written {
  constructor(schema, { label = "Arguments" } = {}) {
    this.form = new Form(schema, () => this.fromForm());
    this.raw = h("textarea", { class: "code raw", rows: 8, spellcheck: "false", "aria-label": `${label} as JSON`, oninput: () => this.fromRaw() });
    this.wrong = h("p", { class: "fault", hidden: true, role: "alert" });
    this.element = tabs(label, [["Form", () => this.form.element], ["JSON", () => h("div", {}, this.raw, this.wrong)]]);
    this.raw.value = this.form.json(2);
    this.isBad = false;
  }
  fromForm() {
    this.raw.value = this.form.json(2);
    this.fault(null);
  }
  fromRaw() {
    try {
      this.form.set(parse(this.raw.value || "{}"));
      this.fault(null);
    } catch (problem) {
      this.fault(`this is not JSON: ${problem.message}`);
    }
  }
  fault(words) {
    this.isBad = Boolean(words);
    this.wrong.hidden = !words;
    this.wrong.textContent = words ?? "";
    this.raw.setAttribute("aria-invalid", String(this.isBad));
  }
  /** That JSON, in both. */
  take(json) {
    this.raw.value = json;
    this.fromRaw();
    if (!this.isBad) this.raw.value = this.form.json(2);
  }
  json() { return this.isBad ? this.raw.value : this.form.json(); }
  /** Whether it is JSON; else the person is led to where it is not. */
  ready() {
    if (this.isBad) {
      this.element.show(1);
      this.raw.focus();
    }
    return !this.isBad;
  }
}
