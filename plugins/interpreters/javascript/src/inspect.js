// Values as Node.js prints them.

import { Promise, look } from './jobs.js';

const WIDTH = 80;
const NESTED_ON_A_LINE = 3;
const ITEMS = 100;
const IDENTIFIER = /^[a-zA-Z_$][a-zA-Z_$0-9]*$/;

/** A value as `console.log` shows it inside of others: strings in quotes. */
export function inspect(value, options) {
  const depth = options?.depth === null ? Infinity : options?.depth ?? 2;
  return show(value, { depth, seen: [], indent: 0, deepest: 0, circular: new Map(), width: options?.breakLength ?? WIDTH }, 0);
}

/** What `console.log` prints: placeholders filled in, strings bare. */
export function format(...values) {
  let text = '';
  let used = 0;
  if (typeof values[0] === 'string' && values.length > 1) {
    used = 1;
    text = values[0].replace(/%[sdifjoOc%]/g, (mark) => {
      if (mark === '%%') return '%';
      return used < values.length ? placeholder(mark[1], values[used++]) : mark;
    });
  }
  const rest = values.slice(used).map((value) => typeof value === 'string' ? value : inspect(value));
  return used ? [text, ...rest].join(' ') : rest.join(' ');
}

function placeholder(kind, value) {
  switch (kind) {
    case 's':
      if (typeof value === 'bigint') return `${value}n`;
      if (typeof value === 'object' && value !== null) return inspect(value, { depth: 0 });
      return Object.is(value, -0) ? '-0' : String(value);
    case 'd':
      if (typeof value === 'bigint') return `${value}n`;
      return typeof value === 'symbol' || typeof value === 'object' ? 'NaN' : number(Number(value));
    case 'i':
      if (typeof value === 'bigint') return `${value}n`;
      return typeof value === 'symbol' || typeof value === 'object' ? 'NaN' : number(parseInt(value));
    case 'f': return typeof value === 'symbol' ? 'NaN' : number(parseFloat(value));
    case 'j': return JSON.stringify(value);
    case 'c': return '';
    default: return inspect(value, { depth: kind === 'o' ? 4 : 2 });
  }
}

const number = (value) => (Object.is(value, -0) ? '-0' : String(value));

function quote(text) {
  const mark = !text.includes("'") ? "'" : !text.includes('"') ? '"' : !text.includes('`') && !text.includes('${') ? '`' : "'";
  const escapes = { '\n': '\\n', '\t': '\\t', '\r': '\\r', '\b': '\\b', '\f': '\\f', '\v': '\\v', '\\': '\\\\' };
  const body = text.replace(/[\x00-\x1f\x7f-\x9f\\'"`]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, (c) => {
    if (c === '"' || c === "'" || c === '`') return c === mark && mark === "'" ? `\\${c}` : c;
    if (escapes[c]) return escapes[c];
    const code = c.charCodeAt(0).toString(16).toUpperCase();
    return code.length > 2 ? `\\u${code}` : `\\x${code.padStart(2, '0')}`;
  });
  return mark + body + mark;
}

function show(value, state, level) {
  switch (typeof value) {
    case 'string': return string(value, state, level);
    case 'number': return number(value);
    case 'bigint': return `${value}n`;
    case 'undefined': return 'undefined';
    case 'boolean': return String(value);
    case 'symbol': return value.toString();
    default: return value === null ? 'null' : object(value, state, level);
  }
}

/** A long string inside of others is broken at its line ends. */
function string(value, state, level) {
  if (level > 0 && value.length > 16 && value.length > state.width - state.indent - 4 && value.includes('\n')) {
    const lines = value.split(/(?<=\n)/);
    return lines.map(quote).join(` +\n${' '.repeat(state.indent + 2)}`);
  }
  return quote(value);
}

function object(value, state, level) {
  const custom = value[Symbol.for('nodejs.util.inspect.custom')];
  if (typeof custom === 'function' && custom !== inspect) {
    const shown = custom.call(value, state.depth - level, {}, inspect);
    if (shown !== value) return typeof shown === 'string' ? shown : show(shown, state, level);
  }
  if (state.seen.includes(value)) {
    if (!state.circular.has(value)) state.circular.set(value, state.circular.size + 1);
    return `[Circular *${state.circular.get(value)}]`;
  }
  return raw(value, state, level);
}

function constructorName(value) {
  for (let at = value; at !== null; at = Object.getPrototypeOf(at)) {
    const own = Object.getOwnPropertyDescriptor(at, 'constructor')?.value;
    if (typeof own === 'function' && own.name !== '' && value instanceof own) return own.name;
  }
  return null;
}

function prefix(name, tag, kind, size) {
  const count = size === undefined ? '' : `(${size})`;
  const shown = name === null ? `[${kind}${count}: null prototype] ` : `${name}${count} `;
  return tag && tag !== name ? `${shown}[${tag}] ` : shown;
}

/** How a kind of object is shown: its braces, what stands before, and its entries. */
function shape(value, state, level) {
  const name = constructorName(value);
  let tag = value[Symbol.toStringTag];
  if (typeof tag !== 'string' || tag === '') tag = '';
  const nested = (item) => show(item, state, level + 1);
  if (Array.isArray(value)) {
    const before = name === 'Array' && !tag ? '' : prefix(name, tag, 'Array', value.length);
    return { open: `${before}[`, close: ']', list: true, keys: ownKeys(value, true), entries: () => indented(state, () => items(value, nested)) };
  }
  if (value instanceof Set) {
    return {
      open: `${prefix(name, tag === 'Set' ? '' : tag, 'Set', value.size)}{`, close: '}', keys: ownKeys(value),
      entries: () => indented(state, () => limited([...value], nested)),
    };
  }
  if (value instanceof Map) {
    return {
      open: `${prefix(name, tag === 'Map' ? '' : tag, 'Map', value.size)}{`, close: '}', keys: ownKeys(value),
      entries: () => indented(state, () => limited([...value], ([key, item]) => `${nested(key)} => ${nested(item)}`)),
    };
  }
  if (ArrayBuffer.isView(value) && !(value instanceof DataView)) {
    return {
      open: `${prefix(name, tag === name || name === 'Buffer' ? '' : tag, tag, value.length)}[`, close: ']', list: true,
      keys: ownKeys(value, true), entries: () => items(value, nested),
    };
  }
  return other(value, name, tag, nested);
}

function other(value, name, tag, nested) {
  const keys = ownKeys(value);
  const base = (text) => ({ open: '{', close: '}', keys, base: text, entries: () => [] });
  if (typeof value === 'function') return base(functionBase(value, name, tag));
  if (value instanceof Error) return base(errorBase(value, keys));
  if (value instanceof RegExp) return base(RegExp.prototype.toString.call(value));
  if (value instanceof Date) return base(Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString());
  for (const Box of [Number, String, Boolean, BigInt, Symbol]) {
    if (!(value instanceof Box)) continue;
    const inner = Box.prototype.valueOf.call(value);
    if (Box === String) keys.splice(0, inner.length);
    return base(`[${Box.name}: ${typeof inner === 'string' ? quote(inner) : nested(inner)}]`);
  }
  if (value instanceof Promise) {
    const { state, value: inner } = look(value);
    const entries = () => [state === 'pending' ? '<pending>' : `${state === 'rejected' ? '<rejected> ' : ''}${nested(inner)}`];
    return { open: 'Promise {', close: '}', keys, entries };
  }
  if (value instanceof WeakMap || value instanceof WeakSet) {
    return { open: `${name} {`, close: '}', keys, entries: () => ['<items unknown>'] };
  }
  if (Object.prototype.toString.call(value) === '[object Arguments]') {
    return { open: '[Arguments] [', close: ']', list: true, keys: ownKeys(value, true), entries: () => items(value, nested) };
  }
  if (tag.endsWith('Generator')) return { open: `Object [${tag}] {`, close: '}', keys, entries: () => [] };
  const before = name === 'Object' && !tag ? '' : prefix(name, tag, 'Object');
  return { open: `${before}{`, close: '}', keys, entries: () => [] };
}

function functionBase(value, name, tag) {
  const text = Function.prototype.toString.call(value);
  if (text.startsWith('class')) {
    const parent = Object.getPrototypeOf(value)?.name;
    return `[class ${value.name || '(anonymous)'}${parent ? ` extends ${parent}` : ''}]`;
  }
  const kind = tag === 'GeneratorFunction' ? tag : text.includes('return $.async(') && /^\s*(\w|\()/.test(text) ? 'AsyncFunction' : 'Function';
  const shown = value.name === '' ? `[${kind} (anonymous)]` : `[${kind}: ${value.name}]`;
  return name === null ? `${shown} [null prototype]` : shown;
}

function errorBase(value, keys) {
  for (const name of ['stack', 'message', 'fileName', 'lineNumber', 'columnNumber']) {
    const at = keys.indexOf(name);
    if (at >= 0) keys.splice(at, 1);
  }
  const head = Error.prototype.toString.call(value);
  const frames = typeof value.stack === 'string' ? ownFrames(value.stack) : '';
  if (Object.hasOwn(value, 'cause') && !keys.includes('cause')) keys.push('cause');
  if (Array.isArray(value.errors) && !keys.includes('errors')) keys.push('errors');
  return frames ? `${head}\n${frames}` : `[${head}]`;
}

let ownFrames = (stack) => stack;

/** Sets what keeps of a stack only the program's frames. */
export function showFramesWith(filter) {
  ownFrames = filter;
}

function ownKeys(value, list = false) {
  const keys = Object.keys(value).filter((key) => !list || !/^(?:0|[1-9]\d*)$/.test(key));
  const symbols = Object.getOwnPropertySymbols(value);
  return keys.concat(symbols.filter((key) => Object.prototype.propertyIsEnumerable.call(value, key)));
}

function limited(list, nested) {
  const shown = list.slice(0, ITEMS).map(nested);
  if (list.length > ITEMS) shown.push(more(list.length - ITEMS));
  return shown;
}

const more = (count) => `... ${count} more item${count > 1 ? 's' : ''}`;

function items(list, nested) {
  const shown = [];
  let at = 0;
  while (at < list.length && shown.length < ITEMS) {
    if (Object.hasOwn(list, at)) shown.push(nested(list[at++]));
    else {
      const start = at;
      while (at < list.length && !Object.hasOwn(list, at)) at++;
      shown.push(`<${at - start} empty item${at - start > 1 ? 's' : ''}>`);
    }
  }
  if (at < list.length) shown.push(more(list.length - at));
  return shown;
}

function indented(state, action) {
  state.indent += 2;
  const result = action();
  state.indent -= 2;
  return result;
}

function raw(value, state, level) {
  const { open, close, list, keys, base = '', entries } = shape(value, state, level);
  if (level > state.depth && !(base && keys.length === 0)) {
    const name = constructorName(value);
    return `[${list && name === 'Array' ? 'Array' : name === null ? 'Object: null prototype' : name}]`;
  }
  state.seen.push(value);
  state.deepest = level;
  const parts = entries();
  for (const key of keys) parts.push(property(value, key, state, level));
  state.seen.pop();
  const index = state.circular.get(value);
  const reference = index === undefined ? '' : `<ref *${index}> `;
  if (parts.length === 0) return reference + (base || `${open}${close}`);
  const text = join(parts, base, open, close, list ? value : undefined, state, level);
  return reference + text;
}

function property(value, key, state, level) {
  const { get, set, value: held } = Object.getOwnPropertyDescriptor(value, key) ?? { value: value[key] };
  let shown;
  if (get) shown = set ? '[Getter/Setter]' : '[Getter]';
  else if (set) shown = '[Setter]';
  else {
    shown = indented(state, () => show(held, state, level + 1));
  }
  const name = typeof key === 'symbol' ? `[${key.toString()}]` : IDENTIFIER.test(key) ? key : quote(key);
  const hidden = !Object.prototype.propertyIsEnumerable.call(value, key);
  return `${hidden ? `[${name}]` : name}: ${shown}`;
}

/** Puts entries on one line if they fit and are not nested too deep, else on lines of their own. */
function join(entries, base, open, close, list, state, level) {
  let output = entries;
  if (list !== undefined && entries.length > 6) output = columns(entries, list, state);
  const before = base ? `${base} ` : '';
  if (state.deepest - level < NESTED_ON_A_LINE && output === entries) {
    const start = output.length + state.indent + open.length + base.length + 10;
    const total = output.reduce((sum, entry) => sum + entry.length, output.length + start);
    const joined = output.join(', ');
    if (total <= state.width && !base.includes('\n') && !joined.includes('\n')) {
      return `${before}${open} ${joined} ${close}`;
    }
  }
  const margin = `\n${' '.repeat(state.indent)}`;
  return `${before}${open}${margin}  ${output.join(`,${margin}  `)}${margin}${close}`;
}

/** Short entries of a long list, in aligned columns. */
function columns(entries, list, state) {
  const extra = entries.length > ITEMS && list.length > ITEMS ? 1 : 0;
  const shown = entries.slice(0, entries.length - extra);
  const lengths = shown.map((entry) => entry.length);
  const longest = Math.max(...lengths);
  const cell = longest + 2;
  const total = lengths.reduce((sum, length) => sum + length + 2, 0);
  if (cell * 3 + state.indent >= state.width || (total / cell <= 5 && longest > 6)) return entries;
  const bias = Math.sqrt(cell - total / entries.length);
  const width = Math.max(cell - 3 - bias, 1);
  const count = Math.min(
    Math.round(Math.sqrt(2.5 * width * shown.length) / width),
    Math.floor((state.width - state.indent) / cell),
    NESTED_ON_A_LINE * 4,
    15,
  );
  if (count <= 1) return entries;
  const widths = [];
  for (let column = 0; column < count; column++) {
    let widest = 0;
    for (let i = column; i < shown.length; i += count) widest = Math.max(widest, lengths[i]);
    widths.push(widest + 2);
  }
  const numbers = Array.prototype.every.call(list, (item) => typeof item === 'number' || typeof item === 'bigint');
  const rows = [];
  for (let i = 0; i < shown.length; i += count) {
    const end = Math.min(i + count, shown.length);
    let row = '';
    for (let j = i; j < end; j++) {
      const last = j === end - 1;
      const text = last ? shown[j] : `${shown[j]}, `;
      const wide = widths[j - i] - (last ? 2 : 0);
      row += numbers ? text.padStart(wide) : last ? text : text.padEnd(wide);
    }
    rows.push(row);
  }
  if (extra) rows.push(entries[entries.length - 1]);
  return rows;
}
