// What the page asks of the program. Every address is below the path that this browser was let in by.

import { parse } from "./json.js";

const base = location.pathname.startsWith("/s-") ? `${location.origin}${location.pathname}` : null;
export const isIn = base !== null;

export class Problem extends Error {
  constructor(message, hint, status) {
    super(message);
    this.hint = hint;
    this.status = status;
  }
}

async function answered(response) {
  const answer = await response.json().catch(() => ({ problem: `the program answered ${response.status}` }));
  if (!response.ok) throw new Problem(answer.problem ?? `the program answered ${response.status}`, answer.hint, response.status);
  return answer;
}

async function ask(path, options) {
  let response;
  try {
    response = await fetch(path, { credentials: "same-origin", cache: "no-store", ...options });
  } catch (problem) {
    if (problem.name === "AbortError") throw problem;
    throw new Problem("the program does not answer", "is pegboard inspect still running?", 0);
  }
  return response;
}

const json = (value, signal) => ({ method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(value), signal });

export const get = async (what) => answered(await ask(`${base}api/${what}`));
export const post = async (what, value, signal) => answered(await ask(`${base}api/${what}`, json(value, signal)));
export const enter = async (token) => answered(await ask("/enter", json({ token })));
export const live = () => new EventSource(`${base}api/live`);

/** One call: `hear` is given all that it says; `args` is JSON text, so that no number is rounded. */
export const call = (name, args, hear, signal) => stream("call", `{"name":${JSON.stringify(name)},"arguments":${args}}`, hear, signal);

/** What answers line by line: `hear` is given each; `body` is JSON text. */
export async function stream(what, body, hear, signal) {
  const response = await ask(`${base}api/${what}`, { method: "POST", headers: { "content-type": "application/json" }, body, signal });
  if (!response.ok) return answered(response);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return null;
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    for (const line of lines) hear(parse(line));
  }
}

export async function check(name, args) {
  const body = `{"name":${JSON.stringify(name)},"arguments":${args}}`;
  return answered(await ask(`${base}api/check`, { method: "POST", headers: { "content-type": "application/json" }, body }));
}
