// Settings: what a plugin lets its users choose.

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

/** Values by name, of which the host has checked every one. */
export function values(configured) {
  const found = {};
  for (const { name, value } of configured) found[name] = value.val;
  return found;
}
