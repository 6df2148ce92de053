// SPDX-License-Identifier: Apache-2.0
// What comes from outside is checked here: numbers become 32 bits on their way into WebAssembly, silently.

export class KeybitsError extends Error {
  constructor(message, code) {
    super(message);
    this.name = "KeybitsError";
    this.code = code;
  }
}

export const refuse = (sentence, code = -1) => { throw new KeybitsError(sentence, code); };

/** Options that are an object with known names only. */
export function known(options, names, what) {
  if (options === null || typeof options !== "object") refuse(`${what}: options are an object, not ${options}`);
  for (const name of Object.keys(options)) {
    if (!names.includes(name)) refuse(`${what} has no option "${name}"; there are ${names.join(", ")}`);
  }
  return options;
}

export function number(value, least, most, what) {
  const n = value ?? 0;
  if (typeof n !== "number" || !(n >= least && n <= most)) refuse(`${what} ${value}: ${least} to ${most}`);
  return n;
}

export function whole(value, least, most, what) {
  const n = number(value, least, most, what);
  if (!Number.isInteger(n)) refuse(`${what} ${value}: a whole number, ${least} to ${most}`);
  return n;
}

export function choice(table, name, what) {
  if (!Object.hasOwn(table, name)) refuse(`${what} "${name}": one of ${Object.keys(table).join(", ")}`, -4);
  return table[name];
}

/** A typed array of numbers that were given as any array. */
export function column(Type, values, length, what) {
  const array = Array.isArray(values) || ArrayBuffer.isView(values); // no object that only says how long it is
  if (!array || !Number.isInteger(values.length)) refuse(`${what}: no array`);
  if (length !== undefined && values.length !== length) refuse(`${what}: ${values.length} numbers, not ${length}`);
  return Type.from(values);
}
