// One run of a program: from its bytes to how it ended.

import * as coroutine from './coroutine.js';
import { makeConsole } from './console.js';
import { Buffer } from './buffer.js';
import { format, inspect, showFramesWith } from './inspect.js';
import * as jobs from './jobs.js';
import { makeRequire } from './modules.js';
import { Exit, Process } from './process.js';
import { rewrite } from './rewrite.js';
import { decode, TextDecoder, TextEncoder } from './text.js';

const FRAMES = 8;
const LONGEST = 16000;
// The engine puts these lines before the body of a function made from text.
const LINES_BEFORE = 2;
const PARAMETERS = ['exports', 'require', 'module', '__filename', '__dirname', '$'];

const EngineFunction = Function;

showFramesWith((stack) => framesOf(stack).join('\n'));

// Made once, as part of the snapshot that every run starts from.
const process = new Process();
const globals = makeGlobals();
const require = makeRequire(process, globals);

/** Runs a program to its end. */
export function run(program, args) {
  process.argv.push(...args);
  Object.defineProperties(globalThis, Object.getOwnPropertyDescriptors(globals));
  delete globalThis.__cqjs;
  delete globalThis.wit;
  let main;
  try {
    main = prepare(decode(program));
  } catch (error) {
    const line = /<input>:(\d+)/.exec(error?.stack)?.[1];
    const where = line ? ` (line ${line - LINES_BEFORE})` : '';
    const message = `${error?.name ?? 'SyntaxError'}: ${error?.message ?? error}${where}`;
    process.stderr.write(`${message}\n`);
    return { tag: 'malformed', val: cut(message) };
  }
  return new Run().perform(main);
}

function makeGlobals() {
  const { Promise, queueMicrotask, setTimeout, setInterval, setImmediate, clearTimeout } = jobs;
  const descriptors = {};
  const globals = {
    console: makeConsole(process), process, Buffer, Promise, TextDecoder, TextEncoder, global: globalThis,
    queueMicrotask, setTimeout, setInterval, setImmediate,
    clearTimeout, clearInterval: clearTimeout, clearImmediate: clearTimeout,
    performance: { now: () => Date.now() - START() + jobs.waited(), timeOrigin: 0 },
    structuredClone: clone,
  };
  for (const name in globals) {
    descriptors[name] = { value: globals[name], writable: true, configurable: true, enumerable: false };
  }
  return Object.defineProperties({}, descriptors);
}

let started;
const START = () => (started ??= Date.now());

function prepare(text) {
  const { source, module } = rewrite(text.replace(/^\ufeff/, '').replace(/^#!/, '//'));
  const body = module ? `"use strict";return $.async(function* () {${source}\n}, this, arguments);` : source;
  return new EngineFunction(...PARAMETERS, body);
}

class Run {
  #failure;

  perform(main) {
    const module = { exports: {}, id: '.', filename: '/main.js', children: [], paths: [] };
    require.main = module;
    this.#guard(() => {
      const pending = main.call(module.exports, module.exports, require, module, '/main.js', '/', coroutine);
      pending?.then?.(undefined, (error) => this.#reject(error));
    });
    while (!this.#stopped() && !this.#guard(() => jobs.drain((error) => this.#reject(error))));
    return this.#end();
  }

  #stopped() {
    return this.#failure !== undefined || process.ended() !== undefined;
  }

  /** Whether the action came to its end; what it threw is kept otherwise. */
  #guard(action) {
    try {
      action();
      return true;
    } catch (error) {
      if (!(error instanceof Exit)) this.#fail(error);
      return false;
    }
  }

  #reject(error) {
    if (process.listenerCount('unhandledRejection') > 0) {
      process.emit('unhandledRejection', error, undefined);
    } else this.#fail(error);
    if (this.#failure) throw new Exit(1);
  }

  #fail(error) {
    if (this.#stopped()) return;
    if (process.listenerCount('uncaughtException') > 0) {
      process.emit('uncaughtException', error, 'uncaughtException');
    } else this.#failure = { error };
  }

  #end() {
    if (this.#failure) process.stderr.write(`${report(this.#failure.error)}\n`);
    const asked = process.ended()?.code ?? process.exitCode ?? 0;
    const code = this.#failure ? 1 : asked;
    process.ending = true;
    this.#guard(() => process.emit('exit', code));
    if (this.#failure) {
      const { error } = this.#failure;
      return { tag: 'failed', val: [nameOf(error), cut(report(error))] };
    }
    const final = process.exitCode ?? code;
    return { tag: 'exited', val: (Number(process.ended()?.code ?? final) | 0) & 255 };
  }
}

function nameOf(error) {
  try {
    return error instanceof Error ? cut(String(error.name)) : 'Error';
  } catch {
    return 'Error';
  }
}

/** What Node.js says of an error that nobody caught. */
function report(error) {
  try {
    return error instanceof Error ? `Uncaught ${inspect(error)}` : `Uncaught ${format(inspect(error))}`;
  } catch {
    return 'Uncaught error';
  }
}

/** The program's own frames of a stack, in its own line numbers. */
function framesOf(stack) {
  const frames = String(stack).split('\n').filter((line) => line.includes('<input>'));
  return frames.slice(0, FRAMES).map((frame) =>
    frame.replace(/<input>:(\d+)/, (_, line) => `main.js:${line - LINES_BEFORE}`).replace(/at anonymous \(/, 'at <main> ('));
}

function cut(text) {
  const whole = text.isWellFormed() ? text : text.toWellFormed();
  return whole.length > LONGEST ? `${whole.slice(0, LONGEST / 2)}\n...\n${whole.slice(-LONGEST / 2)}` : whole;
}

function clone(value, seen = new Map()) {
  if (typeof value === 'function' || typeof value === 'symbol') {
    throw new Error(`${String(value)} could not be cloned.`);
  }
  if (typeof value !== 'object' || value === null) return value;
  if (seen.has(value)) return seen.get(value);
  if (value instanceof Date) return new Date(value);
  if (value instanceof RegExp) return new RegExp(value.source, value.flags);
  if (ArrayBuffer.isView(value)) return value.slice();
  const copy = value instanceof Map ? new Map() : value instanceof Set ? new Set() : Array.isArray(value) ? [] : {};
  seen.set(value, copy);
  if (value instanceof Map) for (const [k, v] of value) copy.set(clone(k, seen), clone(v, seen));
  else if (value instanceof Set) for (const v of value) copy.add(clone(v, seen));
  else for (const key of Object.keys(value)) copy[key] = clone(value[key], seen);
  if (value instanceof Error) return Object.assign(new value.constructor(value.message), copy);
  return copy;
}
