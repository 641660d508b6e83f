// JSON has more numbers than JavaScript: those that would be rounded are kept as they are written.

export const isRaw = (value) => Boolean(JSON.isRawJSON?.(value));
export const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value) && !isRaw(value);
export const isNumeral = (written) => /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(written);

/** The number that is written so. */
export function numeral(written) {
  const value = Number(written);
  const isExact = written.replace(/\D/g, "").length <= 15 && Number.isFinite(value);
  return isExact || String(value) === written || !JSON.rawJSON ? value : JSON.rawJSON(written);
}

/** JSON text as a value. */
export const parse = (written) => JSON.parse(written, (_, value, context) => (typeof value === "number" && context?.source !== undefined ? numeral(context.source) : value));
