// Settings: what a plugin lets its users choose.

import { Problem } from './problem.js';

/** A whole number from `low` to `high`. */
export function integer(summary, low, high, initial) {
  return setting(summary, { tag: 'integer', val: [low, high] }, { tag: 'integer', val: initial });
}

/** A real number from `low` to `high`. */
export function number(summary, low, high, initial) {
  return setting(summary, { tag: 'number', val: [low, high] }, { tag: 'number', val: initial });
}

/** Yes or no. */
export function flag(summary, initial) {
  return setting(summary, { tag: 'flag' }, { tag: 'flag', val: initial });
}

/** One of several words; the first is the default. */
export function choice(summary, words) {
  return setting(summary, { tag: 'choice', val: words }, { tag: 'text', val: words[0] });
}

/** Any string. */
export function text(summary, initial = '') {
  return setting(summary, { tag: 'text' }, { tag: 'text', val: initial });
}

const setting = (summary, domain, initial) => ({ summary, domain, default: initial });

/** Declared settings as the contract lists them. */
export function listed(declared) {
  return Object.entries(declared).map(([name, { summary, domain, default: initial }]) => ({
    name, summary, domain, default: initial,
  }));
}

/** Values by name. */
export function values(configured) {
  const found = {};
  for (const { name, value } of configured) found[name] = value.val;
  return found;
}

/** The same, unless one is outside of its domain, or of no setting. */
export function checked(declared, configured) {
  for (const { name, value } of configured) {
    if (!Object.hasOwn(declared, name)) throw Problem.settings(`there is no setting \`${name}\``);
    if (accepts(declared[name], value)) continue;
    const shown = typeof value.val === 'string' ? JSON.stringify(value.val) : String(value.val);
    throw Problem.settings(`\`${name}\` is ${shown}, but must be ${wanted(declared[name].domain)}`);
  }
  return values(configured);
}

function accepts({ domain: { tag, val: bounds }, default: initial }, { tag: kind, val }) {
  if (kind !== initial.tag || typeof val !== typeof initial.val) return false;
  if (tag === 'choice') return bounds.includes(val);
  if (tag !== 'integer' && tag !== 'number') return true;
  return bounds[0] <= val && val <= bounds[1] && (tag === 'number' || Number.isInteger(val));
}

/** What the values of a domain are, in words. */
function wanted({ tag, val }) {
  switch (tag) {
    case 'integer': return `a whole number from ${val[0]} to ${val[1]}`;
    case 'number': return `a number from ${val[0]} to ${val[1]}`;
    case 'flag': return 'true or false';
    case 'choice': return `one of ${val.map((word) => JSON.stringify(word)).join(', ')}`;
    default: return 'a string';
  }
}
