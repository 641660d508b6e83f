// What the page asks of the program. Every address is below the path that this browser was let in by.

import { parse } from "./json.js";

let base = `${location.origin}${location.pathname}`;
export const isIn = () => base.startsWith(`${location.origin}/s-`);

export class Problem extends Error {
  constructor(message, hint, status) {
    super(message);
    this.hint = hint;
    this.status = status;
  }
}

let away = () => {};
/** Have `tell` told after each request: null, or why the program is not to be had. */
export const onAway = (tell) => { away = tell; };

async function answered(response) {
  const answer = await reached(response.json().catch((problem) => { if (response.ok) throw problem; return {}; }));
  const problem = response.ok ? null : new Problem(answer.problem ?? `the program answered ${response.status}`, answer.hint, response.status);
  away(problem?.status === 401 ? problem : null);
  if (problem) throw problem;
  return answer;
}

/** A fetch whose failure is told as what it means. */
async function reached(work) {
  try {
    return await work;
  } catch (problem) {
    if (!(problem instanceof TypeError)) throw problem; // of fetch, of what is read and of import alike: nobody is there
    const gone = new Problem("the program does not answer", "is pegboard inspect still running?", 0);
    away(gone);
    throw gone;
  }
}

const ask = (path, options) => reached(fetch(path, { credentials: "same-origin", cache: "no-store", ...options }));

/** A module of the page that is not there from the beginning. */
export const load = (path) => reached(import(path));

const json = (value, signal) => ({ method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(value), signal });

export const get = async (what) => answered(await ask(`${base}api/${what}`));
export const post = async (what, value, signal) => answered(await ask(`${base}api/${what}`, json(value, signal)));

/** Let this page in: it goes on below its own path, and is not loaded once more. */
export async function enter(token, hash) {
  const own = (await answered(await ask("/enter", json({ token })))).base;
  history.replaceState(null, "", `${own}${hash}`);
  base = `${location.origin}${own}`;
}

export const live = () => new EventSource(`${base}api/live`);

/** One call: `hear` is given all that it says; `args` is JSON text, so that no number is rounded. */
export const call = (name, args, hear, signal) => stream("call", `{"name":${JSON.stringify(name)},"arguments":${args}}`, hear, signal);

/** What answers line by line: `hear` is given each; `body` is JSON text. */
export async function stream(what, body, hear, signal) {
  const response = await ask(`${base}api/${what}`, { method: "POST", headers: { "content-type": "application/json" }, body, signal });
  if (!response.ok) return answered(response);
  away(null);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reached(reader.read());
      if (done) return null;
      const lines = value.split("\n"); // not what came before with it: of a long line that would be looked at again and again
      lines[0] = rest + lines[0];
      rest = lines.pop();
      for (const line of lines) hear(parse(line));
    }
  } finally {
    reader.cancel().catch(() => {}); // whoever heard enough leaves
  }
}

export async function check(name, args) {
  const body = `{"name":${JSON.stringify(name)},"arguments":${args}}`;
  return answered(await ask(`${base}api/check`, { method: "POST", headers: { "content-type": "application/json" }, body }));
}
