// What `require` knows.

import { Buffer } from './buffer.js';
import { EventEmitter } from './events.js';
import { format, inspect } from './inspect.js';
import * as jobs from './jobs.js';
import { write } from './streams.js';
import { TextDecoder, TextEncoder } from './text.js';

const INPUTS = [0, '/dev/stdin', '/proc/self/fd/0'];
const OUTPUTS = new Map([[1, 'stdout'], ['/dev/stdout', 'stdout'], [2, 'stderr'], ['/dev/stderr', 'stderr']]);

/** The function `require` of a program. */
export function makeRequire(process, globals) {
  const made = new Map();
  const makers = {
    assert, buffer: () => ({ Buffer }), console: () => globals.console, events: () => EventEmitter,
    fs: () => fileSystem(process), 'fs/promises': () => require('fs').promises,
    os: () => ({ EOL: '\n', cpus: () => [], platform: () => 'linux', tmpdir: () => '/tmp', totalmem: () => 0, freemem: () => 0 }),
    path, perf_hooks: () => ({ performance: globals.performance }), process: () => process,
    readline: () => readline(process), 'readline/promises': () => readline(process),
    string_decoder: () => ({ StringDecoder: class { write = (bytes) => Buffer.from(bytes).toString(); end = () => ''; } }),
    timers: () => jobs, 'timers/promises': () => ({ setTimeout: sleep, setImmediate: (value) => sleep(0, value) }),
    url: () => ({ fileURLToPath: (url) => String(url).replace('file://', '') }), util,
  };
  function require(name) {
    const short = String(name).replace(/^node:/, '');
    if (!Object.hasOwn(makers, short)) {
      const error = new Error(`Cannot find module '${name}'\nRequire stack:\n- /main.js`);
      error.code = 'MODULE_NOT_FOUND';
      throw error;
    }
    if (!made.has(short)) made.set(short, makers[short]());
    return made.get(short);
  }
  return require;
}

const sleep = (delay, value) => new jobs.Promise((resolve) => jobs.setTimeout(resolve, delay, value));

function missing(path, call) {
  const error = new Error(`ENOENT: no such file or directory, ${call} '${path}'`);
  return Object.assign(error, { errno: -2, code: 'ENOENT', syscall: call, path });
}

function fileSystem(process) {
  const encodingOf = (options) => (typeof options === 'string' ? options : options?.encoding);
  const fs = {
    constants: {},
    readFileSync(path, options) {
      if (!INPUTS.includes(path)) throw missing(path, 'open');
      const text = process.stdin.rest();
      const encoding = encodingOf(options);
      return encoding && !/^utf-?8$/i.test(encoding) ? Buffer.from(text).toString(encoding) : encoding ? text : Buffer.from(text);
    },
    writeSync(descriptor, data) {
      process.stopIfEnded();
      if (!OUTPUTS.has(descriptor)) throw missing(descriptor, 'write');
      write(OUTPUTS.get(descriptor), data);
      return data.length;
    },
    writeFileSync(path, data) { fs.writeSync(path, data); },
    appendFileSync(path, data) { fs.writeSync(path, data); },
    existsSync: (path) => INPUTS.includes(path),
    readFile(path, ...rest) {
      const done = rest.pop();
      attempt(() => fs.readFileSync(path, rest[0]), done);
    },
    createReadStream: () => process.stdin,
    fstatSync: () => ({ size: 0, isFile: () => false }),
    openSync(path) {
      if (!INPUTS.includes(path)) throw missing(path, 'open');
      return 0;
    },
    closeSync() {},
    promises: {
      readFile: (path, options) => new jobs.Promise((resolve) => resolve(fs.readFileSync(path, options))),
      writeFile: (path, data) => new jobs.Promise((resolve) => resolve(fs.writeFileSync(path, data))),
    },
  };
  return fs;
}

function attempt(action, done) {
  let result;
  let failure = null;
  try {
    result = action();
  } catch (error) {
    failure = error;
  }
  jobs.setImmediate(() => done(failure, result));
}

class Interface extends EventEmitter {
  #lines;
  #started = false;
  #closed = false;
  #input;
  #process;

  constructor(input, process) {
    super();
    this.#input = input;
    this.#process = process;
  }

  #fill() {
    if (this.#lines) return this.#lines;
    const text = this.#input === this.#process.stdin ? this.#process.stdin.rest() : String(this.#input?.read?.() ?? '');
    this.#lines = text.split(/\r\n|\n|\r/);
    if (this.#lines.at(-1) === '') this.#lines.pop();
    return this.#lines;
  }

  on(name, listener) {
    super.on(name, listener);
    if ((name === 'line' || name === 'close') && !this.#started) {
      this.#started = true;
      jobs.setImmediate(() => this.#deliver());
    }
    return this;
  }

  #deliver() {
    const lines = this.#fill();
    while (lines.length > 0 && !this.#closed) this.emit('line', lines.shift());
    this.close();
  }

  question(text, options, done) {
    const answer = typeof options === 'function' ? options : done;
    this.#process.stdout.write(text);
    const reply = (resolve) => {
      const line = this.#fill().shift();
      if (line === undefined) return this.close();
      jobs.setImmediate(() => resolve(line));
    };
    return answer ? reply(answer) : new jobs.Promise(reply);
  }

  close() {
    if (this.#closed) return;
    this.#closed = true;
    this.emit('close');
  }

  setPrompt() {}
  prompt() {}
  pause() { return this; }
  resume() { return this; }

  [Symbol.asyncIterator]() {
    return {
      next: () => {
        const lines = this.#fill();
        const done = lines.length === 0;
        return jobs.Promise.resolve({ value: lines.shift(), done });
      },
      return: () => jobs.Promise.resolve({ value: undefined, done: true }),
    };
  }
}

function readline(process) {
  return { Interface, createInterface: (options) => new Interface(options?.input ?? options ?? process.stdin, process) };
}

function path() {
  const split = (name) => String(name).split('/').filter((part) => part !== '' && part !== '.');
  const normalize = (name) => {
    const parts = [];
    for (const part of split(name)) part === '..' && parts.length ? parts.pop() : parts.push(part);
    return (name.startsWith('/') ? '/' : '') + parts.join('/') || '.';
  };
  const basename = (name, end = '') => (split(name).pop() ?? '').replace(new RegExp(`${end.replace(/\W/g, '\\$&')}$`), '');
  return {
    sep: '/', normalize, basename,
    join: (...parts) => normalize(parts.filter(Boolean).join('/')),
    resolve: (...parts) => normalize(parts.reduce((all, part) => (part.startsWith('/') ? part : `${all}/${part}`), '/')),
    dirname: (name) => (name.startsWith('/') ? '/' : '') + split(name).slice(0, -1).join('/') || '.',
    extname: (name) => /[^./](\.[^./]*)$/.exec(name)?.[1] ?? '',
  };
}

function util() {
  return {
    format, inspect, TextDecoder, TextEncoder,
    promisify: (action) => (...args) => new jobs.Promise((resolve, reject) => {
      action(...args, (error, value) => (error ? reject(error) : resolve(value)));
    }),
    isDeepStrictEqual: same,
    inherits: (C, Parent) => Object.setPrototypeOf(C.prototype, Parent.prototype),
    types: {},
  };
}

function same(a, b) {
  if (Object.is(a, b)) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return false;
  if (a instanceof Date) return a.getTime() === b.getTime();
  if (a instanceof Map || a instanceof Set) return a.size === b.size && same([...a], [...b]);
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && same(a[key], b[key]));
}

function assert() {
  class AssertionError extends Error {
    name = 'AssertionError';
    code = 'ERR_ASSERTION';
  }
  const check = (holds, message, otherwise) => {
    if (holds) return;
    throw message instanceof Error ? message : new AssertionError(message ?? otherwise);
  };
  const ok = (value, message) => check(value, message, 'The expression evaluated to a falsy value');
  const compare = (test, words) => (a, b, message) => check(test(a, b), message, `Expected values to be ${words}:\n\n${inspect(a)} !== ${inspect(b)}`);
  const strict = {
    ok, AssertionError,
    equal: compare((a, b) => a == b, 'loosely equal'),
    notEqual: compare((a, b) => a != b, 'loosely unequal'),
    strictEqual: compare(Object.is, 'strictly equal'),
    notStrictEqual: compare((a, b) => !Object.is(a, b), 'strictly unequal'),
    deepEqual: compare(same, 'loosely deep-equal'),
    deepStrictEqual: compare(same, 'strictly deep-equal'),
    notDeepStrictEqual: compare((a, b) => !same(a, b), 'not deep-equal'),
    throws(action, ...rest) {
      try {
        action();
      } catch {
        return;
      }
      check(false, rest.find((value) => typeof value === 'string'), 'Missing expected exception.');
    },
    fail: (message) => check(false, message, 'Failed'),
  };
  return Object.assign((value, message) => ok(value, message), strict, { strict });
}
