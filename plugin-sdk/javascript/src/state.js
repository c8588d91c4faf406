// The state of an episode or a session: the fields of its object, as JSON in ASCII.

import { asciiBytes, asciiText } from './bytes.js';
import { Problem } from './problem.js';
import { Proposals } from './proposals.js';
import { Random } from './random.js';

/** Classes that a field may hold an object of. */
const CLASSES = { Proposals, Random };
/** The key of what plain JSON cannot say. */
const TAG = '$';

/** Every field as bytes; refuses what could not be read back as it was. */
export function save(object) {
  const fields = { ...object };
  for (const name of Object.keys(fields)) fields[name] = packed(fields[name], name);
  const escaped = (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return asciiBytes(JSON.stringify(fields).replace(/[\u0080-\uffff]/g, escaped));
}

/** Puts saved fields into a new object of the class. */
export function load(Class, bytes) {
  let fields;
  try {
    fields = JSON.parse(asciiText(bytes));
  } catch (error) {
    throw Problem.state(`not a saved state of this version: ${error.message}`);
  }
  const object = new Class();
  for (const name of Object.keys(fields)) object[name] = unpacked(fields[name]);
  return object;
}

/** The value itself where JSON can say it, so that plain states are not copied. */
function packed(value, place) {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value;
    case 'number':
      return Number.isFinite(value) && !Object.is(value, -0) ? value : { [TAG]: 'number', of: String(Object.is(value, -0) ? '-0' : value) };
    case 'bigint':
      return { [TAG]: 'bigint', of: String(value) };
    case 'undefined':
      return { [TAG]: 'undefined' };
    case 'object':
      return value === null ? null : packedObject(value, place);
    default:
      throw unsavable(place, `a ${typeof value}`);
  }
}

function packedObject(value, place) {
  if (Array.isArray(value)) return packedItems(value, place);
  const prototype = Object.getPrototypeOf(value);
  if (prototype === Object.prototype || prototype === null) {
    const fields = packedFields(value, place);
    return TAG in value ? { [TAG]: 'object', of: Object.entries(fields) } : fields;
  }
  if (value instanceof Map) return { [TAG]: 'map', of: packedItems([...value], place) };
  if (value instanceof Set) return { [TAG]: 'set', of: packedItems([...value], place) };
  if (value instanceof Uint8Array) return { [TAG]: 'bytes', of: [...value] };
  const known = Object.keys(CLASSES).find((name) => prototype === CLASSES[name].prototype);
  if (known) return { [TAG]: known, of: packedFields(value, place) };
  throw unsavable(place, `a ${value.constructor?.name ?? 'strange object'}`);
}

/** The list, or a changed copy where an item has to be said in another way. */
function packedItems(items, place) {
  let copy = null;
  for (let i = 0; i < items.length; i++) {
    const item = packed(items[i], place);
    if (item !== items[i]) (copy ??= items.slice())[i] = item;
  }
  return copy ?? items;
}

function packedFields(object, place) {
  let copy = null;
  for (const name of Object.keys(object)) {
    const value = packed(object[name], `${place}.${name}`);
    if (value !== object[name]) (copy ??= { ...object })[name] = value;
  }
  return copy ?? object;
}

function unpacked(value) {
  if (value === null || typeof value !== 'object') return value;
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) value[i] = unpacked(value[i]);
    return value;
  }
  if (TAG in value) return unpackedTagged(value[TAG], value.of);
  for (const name of Object.keys(value)) value[name] = unpacked(value[name]);
  return value;
}

function unpackedTagged(tag, of) {
  switch (tag) {
    case 'number': return Number(of);
    case 'bigint': return BigInt(of);
    case 'undefined': return undefined;
    case 'bytes': return Uint8Array.from(of);
    case 'map': return new Map(unpacked(of));
    case 'set': return new Set(unpacked(of));
    case 'object': return Object.fromEntries(unpacked(of));
  }
  if (!Object.hasOwn(CLASSES, tag)) throw Problem.state(`a saved state has no ${JSON.stringify(tag)}`);
  return Object.assign(Object.create(CLASSES[tag].prototype), unpacked(of));
}

function unsavable(place, what) {
  const advice = 'keep plain values in fields, or write `save` and `restore`';
  return new Problem('internal', `the field \`${place}\` holds ${what}, which cannot be saved: ${advice}`);
}
