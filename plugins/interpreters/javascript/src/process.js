// `process`, with its standard streams.

import { Buffer } from './buffer.js';
import { EventEmitter } from './events.js';
import { nextTick, queueMicrotask, setImmediate, waited } from './jobs.js';
import { decode, readAll, write } from './streams.js';

/** What `process.exit` throws; a program that catches it is stopped at its next output. */
export class Exit {
  constructor(code) {
    this.code = code;
  }
}

class Output extends EventEmitter {
  #to;
  #process;
  isTTY = undefined;
  writable = true;

  constructor(to, process) {
    super();
    this.#to = to;
    this.#process = process;
  }

  write(data, encoding, done) {
    this.#process.stopIfEnded();
    if (typeof data !== 'string' && !ArrayBuffer.isView(data)) {
      throw new TypeError('The "chunk" argument must be of type string or an instance of Buffer.');
    }
    write(this.#to, data);
    const callback = typeof encoding === 'function' ? encoding : done;
    if (callback) queueMicrotask(callback);
    return true;
  }

  end(data, encoding, done) {
    if (data !== undefined && typeof data !== 'function') this.write(data, encoding);
    const callback = [data, encoding, done].find((value) => typeof value === 'function');
    if (callback) queueMicrotask(callback);
  }
}

class Input extends EventEmitter {
  #encoding;
  #flowing = false;
  #unread;
  isTTY = undefined;
  fd = 0;

  setEncoding(encoding) {
    this.#encoding = encoding ?? 'utf8';
    return this;
  }

  #take() {
    const bytes = this.#unread === undefined ? Buffer.from(readAll()) : null;
    this.#unread = null;
    if (bytes === null || bytes.length === 0) return null;
    return this.#encoding ? bytes.toString(this.#encoding) : bytes;
  }

  read() { return this.#take(); }

  on(name, listener) {
    super.on(name, listener);
    if (name === 'data') this.resume();
    if (name === 'readable') this.#start(() => {
      this.emit('readable');
      if (this.#take() === null) this.#end();
    });
    return this;
  }

  resume() {
    this.#start(() => {
      const chunk = this.#take();
      if (chunk !== null) this.emit('data', chunk);
      this.#end();
    });
    return this;
  }

  #start(action) {
    if (this.#flowing) return;
    this.#flowing = true;
    setImmediate(action);
  }

  #end() {
    setImmediate(() => {
      this.emit('end');
      this.emit('close');
    });
  }

  pipe(output) {
    this.on('data', (chunk) => output.write(chunk));
    return output;
  }

  pause() { return this; }
  unref() { return this; }
  ref() { return this; }
  destroy() { return this; }

  /** Everything that has not been read, as text. */
  rest() {
    const bytes = this.#unread === undefined ? readAll() : [];
    this.#unread = null;
    return decode(bytes);
  }

  // An async generator of the engine's own would never go on: an iterator by hand instead.
  [Symbol.asyncIterator]() {
    return {
      next: () => {
        const value = this.read();
        return Promise.resolve({ value: value ?? undefined, done: value === null });
      },
      return: () => Promise.resolve({ value: undefined, done: true }),
    };
  }
}

export class Process extends EventEmitter {
  exitCode = undefined;
  #ended;
  env = {};
  execArgv = [];
  pid = 1;
  platform = 'linux';
  arch = 'wasm32';
  version = 'v22.0.0';
  versions = { node: '22.0.0', quickjs: 'ng' };
  title = 'node';

  constructor() {
    super();
    this.argv = ['/usr/bin/node', '/main.js'];
    this.stdout = new Output('stdout', this);
    this.stderr = new Output('stderr', this);
    this.stdin = new Input();
    this.stdout.fd = 1;
    this.stderr.fd = 2;
    this.hrtime = Object.assign((since) => {
      const now = nanoseconds() - (since ? BigInt(since[0]) * 1000000000n + BigInt(since[1]) : 0n);
      return [Number(now / 1000000000n), Number(now % 1000000000n)];
    }, { bigint: nanoseconds });
  }

  /** The exit that the program asked for, if it did. */
  ended() { return this.#ended; }

  stopIfEnded() {
    if (this.#ended && !this.ending) throw this.#ended;
  }

  exit(code) {
    this.#ended ??= new Exit(code ?? this.exitCode ?? 0);
    throw this.#ended;
  }

  abort() { return this.exit(134); }
  cwd() { return '/'; }
  uptime() { return Number(nanoseconds()) / 1e9; }
  nextTick(job, ...args) { nextTick(job, ...args); }
  memoryUsage() { return { rss: 0, heapTotal: 0, heapUsed: 0, external: 0, arrayBuffers: 0 }; }
  emitWarning(text) { this.stderr.write(`(node:1) Warning: ${text}\n`); }
}

const nanoseconds = () => BigInt(Math.round((Date.now() + waited()) * 1e6));
