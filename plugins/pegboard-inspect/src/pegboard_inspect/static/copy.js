// A call as other programs make it. Values in, text out.

import { isRaw } from "./json.js";

const quoted = (text) => `'${text.replaceAll("'", `'\\''`)}'`;

/** A JSON value as Python writes it. */
export function python(value) {
  if (value === null || value === undefined) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  if (typeof value === "string" || typeof value === "number" || isRaw(value)) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(python).join(", ")}]`;
  return `{${Object.entries(value).map(([key, one]) => `${JSON.stringify(key)}: ${python(one)}`).join(", ")}}`;
}

const word = (name) => name.replace(/\W+/g, "_").replace(/^(?=\d)/, "_").toLowerCase() || "tool";

export const WAYS = {
  "pegboard call": (name, json) => `pegboard call ${quoted(name)} --args ${quoted(json)}`,
  curl: (name, json) => `curl -s http://127.0.0.1:8080/tools/${encodeURIComponent(name)} -H 'content-type: application/json' -d ${quoted(json)}  # pegboard gateway --port 8080`,
  Python: (name, json, value) => `from pegboard import call_sync\n\nresult = call_sync(${JSON.stringify(name)}, ${python(value)})\nprint(result.raise_for_error().text)\n`,
  "MCP JSON": (name, json, value) => JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: value } }, null, 2),
  pytest: (name, json, value) => `from pegboard import call_sync\n\n\ndef test_${word(name)}() -> None:\n    result = call_sync(${JSON.stringify(name)}, ${python(value)})\n    assert result.ok, result.text\n`,
};
