// Chance that can be repeated: numbers that follow from a task alone. They are
// those of every other language's SDK (docs/contract.md, "Chance and splits").

import { utf8 } from './bytes.js';

const SPLITS = ['train', 'validation', 'test'];
const STEP = 0x9e3779b97f4a7c15n;

const wrap = (bits) => BigInt.asUintN(64, bits);

/** SplitMix64's finalizer. */
function mix(bits) {
  bits = wrap((bits ^ (bits >> 30n)) * 0xbf58476d1ce4e5b9n);
  bits = wrap((bits ^ (bits >> 27n)) * 0x94d049bb133111ebn);
  return bits ^ (bits >> 31n);
}

/** FNV-1a, finished by SplitMix64: the same on every machine, in every language. */
export function hash(bytes) {
  let folded = 0xcbf29ce484222325n;
  for (const byte of bytes) folded = wrap((folded ^ BigInt(byte)) * 0x100000001b3n);
  return mix(folded);
}

/**
 * The split that a problem belongs to, given as text or bytes: eight in ten
 * belong to `train`. Whoever draws until a problem belongs to its task's split
 * has disjoint splits.
 */
export function owningSplit(problem) {
  const owner = hash(typeof problem === 'string' ? utf8(problem) : problem) % 10n;
  return owner === 0n ? 'validation' : owner === 1n ? 'test' : 'train';
}

/** The numbers of one task for one purpose: two purposes give unrelated numbers. */
export class Random {
  constructor(split, seed, purpose) {
    const place = SPLITS.indexOf(split);
    if (place < 0) throw new TypeError(`there is no split ${JSON.stringify(split)}`);
    const bytes = [seed, seed >>> 8, seed >>> 16, seed >>> 24].map((byte) => byte & 255);
    this.state = hash([place, ...bytes, ...utf8(purpose)]);
  }

  /** Sixty-four random bits, as a BigInt. */
  bits() {
    this.state = wrap(this.state + STEP);
    return mix(this.state);
  }

  /** A whole number below `bound`, all equally likely; 0 when `bound` is 0. */
  below(bound) {
    return Number((this.bits() * BigInt(bound)) >> 64n);
  }

  /** A whole number from `low` to `high`, both included. */
  between(low, high) {
    return low + this.below(high - low + 1);
  }

  /** One of the items, all equally likely; undefined when there are none. */
  choose(items) {
    return items[this.below(items.length)];
  }

  /** Brings the items into a random order, and returns them. */
  shuffle(items) {
    for (let end = items.length - 1; end > 0; end--) {
      const other = this.below(end + 1);
      [items[end], items[other]] = [items[other], items[end]];
    }
    return items;
  }
}
