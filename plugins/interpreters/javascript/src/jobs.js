// Promises and timers with a queue of our own: the engine's cannot be emptied from inside.

const WAITING = 0;
const FULFILLED = 1;
const REJECTED = 2;

let queue = [];
let next = 0;
const ticks = [];
let timers = [];
let immediates = [];
let timerCount = 0;
// In milliseconds.
let clock = 0;
let unhandled = new Set();

/** Runs a function when the current job is done. */
export function queueMicrotask(job) {
  if (typeof job !== 'function') throw new TypeError('The "callback" argument must be of type function.');
  queue.push(job);
}

/** Runs a function before those of promises. */
export function nextTick(job, ...args) {
  ticks.push(() => job(...args));
}

/** Virtual milliseconds that timers have waited so far. */
export const waited = () => clock;

function drainMicrotasks() {
  do {
    while (ticks.length > 0) ticks.shift()();
    while (next < queue.length) {
      const job = queue[next++];
      if (next > 4096) {
        queue = queue.slice(next);
        next = 0;
      }
      job();
    }
  } while (ticks.length > 0);
}

/** What is due next: a timer whose time has come, else an immediate, else the next timer. */
function takeDue() {
  if (timers.length > 0 && (timers[0].due <= clock || immediates.length === 0)) return timers.shift();
  if (immediates.length > 0) clock += 1 / 1024;
  return immediates.shift();
}

/** Runs jobs and timers until none is left. `failed` is told of rejections nobody handled. */
export function drain(failed) {
  for (;;) {
    drainMicrotasks();
    // To get here takes Node.js at least a millisecond.
    clock = Math.max(clock, 1);
    for (const rejection of unhandled) {
      unhandled.delete(rejection);
      failed(rejection.value);
    }
    const timer = takeDue();
    if (timer === undefined) return;
    clock = Math.max(clock, timer.due);
    if (timer.every !== undefined) schedule(timer, timer.every);
    timer.job(...timer.args);
  }
}

class Timeout {
  constructor(job, every, args) {
    this.job = job;
    this.every = every;
    this.args = args;
    this.id = ++timerCount;
  }
  ref() { return this; }
  unref() { return this; }
  hasRef() { return true; }
  [Symbol.toPrimitive]() { return this.id; }
}

function schedule(timer, delay) {
  timer.due = clock + delay;
  let at = timers.length;
  while (at > 0 && timers[at - 1].due > timer.due) at--;
  timers.splice(at, 0, timer);
}

function start(job, delay, every, args) {
  if (typeof job !== 'function') throw new TypeError('The "callback" argument must be of type function.');
  const wait = delay >= 1 && delay < 2 ** 31 ? Math.trunc(delay) : 1;
  const timer = new Timeout(job, every ? wait : undefined, args);
  schedule(timer, wait);
  return timer;
}

export const setTimeout = (job, delay, ...args) => start(job, delay, false, args);
export const setInterval = (job, delay, ...args) => start(job, delay, true, args);

export function setImmediate(job, ...args) {
  const timer = new Timeout(job, undefined, args);
  timer.due = 0;
  immediates.push(timer);
  return timer;
}

export function clearTimeout(timer) {
  const id = typeof timer === 'object' && timer !== null ? timer.id : Number(timer);
  const others = (list) => list.filter((other) => other.id !== id);
  [timers, immediates] = [others(timers), others(immediates)];
  if (timer instanceof Timeout) timer.every = undefined;
}

/** A promise as the language defines it. */
class OwnPromise {
  #state = WAITING;
  #value;
  #reactions = [];
  #handled = false;

  constructor(executor) {
    if (typeof executor !== 'function') {
      throw new TypeError(`Promise resolver ${String(executor)} is not a function`);
    }
    const [resolve, reject] = this.#resolvers();
    try {
      executor(resolve, reject);
    } catch (error) {
      reject(error);
    }
  }

  #resolvers() {
    let called = false;
    const once = (action) => (value) => {
      if (called) return;
      called = true;
      action(value);
    };
    return [once((value) => this.#resolve(value)), once((value) => this.#settle(REJECTED, value))];
  }

  #resolve(value) {
    if (value === this) {
      return this.#settle(REJECTED, new TypeError('Chaining cycle detected for promise #<Promise>'));
    }
    if ((typeof value !== 'object' || value === null) && typeof value !== 'function') {
      return this.#settle(FULFILLED, value);
    }
    let then;
    try {
      then = value.then;
    } catch (error) {
      return this.#settle(REJECTED, error);
    }
    if (typeof then !== 'function') return this.#settle(FULFILLED, value);
    queueMicrotask(() => {
      const [resolve, reject] = this.#resolvers();
      try {
        then.call(value, resolve, reject);
      } catch (error) {
        reject(error);
      }
    });
  }

  #settle(state, value) {
    this.#state = state;
    this.#value = value;
    if (state === REJECTED && !this.#handled) unhandled.add({ value, promise: this });
    for (const reaction of this.#reactions) this.#react(reaction);
    this.#reactions = undefined;
  }

  #react({ fulfilled, rejected, resolve, reject }) {
    const [state, value] = [this.#state, this.#value];
    queueMicrotask(() => {
      const handler = state === FULFILLED ? fulfilled : rejected;
      if (typeof handler !== 'function') return (state === FULFILLED ? resolve : reject)(value);
      let result;
      try {
        result = handler(value);
      } catch (error) {
        return reject(error);
      }
      resolve(result);
    });
  }

  then(fulfilled, rejected) {
    let resolve, reject;
    const Species = this.constructor?.[Symbol.species] ?? OwnPromise;
    const promise = new Species((...both) => ([resolve, reject] = both));
    if (!this.#handled) {
      this.#handled = true;
      for (const entry of unhandled) if (entry.promise === this) unhandled.delete(entry);
    }
    const reaction = { fulfilled, rejected, resolve, reject };
    if (this.#state === WAITING) this.#reactions.push(reaction);
    else this.#react(reaction);
    return promise;
  }

  catch(rejected) {
    return this.then(undefined, rejected);
  }

  finally(action) {
    if (typeof action !== 'function') return this.then(action, action);
    const C = this.constructor;
    return this.then(
      (value) => C.resolve(action()).then(() => value),
      (error) => C.resolve(action()).then(() => { throw error; }),
    );
  }

  /** For `inspect`: the state's name and the value. */
  static look(promise) {
    return { state: ['pending', 'fulfilled', 'rejected'][promise.#state], value: promise.#value };
  }

  static get [Symbol.species]() { return this; }
  get [Symbol.toStringTag]() { return 'Promise'; }

  static resolve(value) {
    if (value instanceof OwnPromise && value.constructor === this) return value;
    return new this((resolve) => resolve(value));
  }

  static reject(reason) {
    return new this((_, reject) => reject(reason));
  }

  static withResolvers() {
    let resolve, reject;
    const promise = new this((...both) => ([resolve, reject] = both));
    return { promise, resolve, reject };
  }

  static try(action, ...args) {
    return new this((resolve) => resolve(action(...args)));
  }

  static #every(C, items, settle) {
    return new C((resolve, reject) => {
      const results = [];
      let left = 1;
      let index = 0;
      const done = (i) => (result) => {
        results[i] = result;
        if (--left === 0) resolve(results);
      };
      for (const item of items) {
        left++;
        settle(C.resolve(item), done(index++), reject);
      }
      if (--left === 0) resolve(results);
    });
  }

  static all(items) {
    return OwnPromise.#every(this, items, (promise, done, reject) => promise.then(done, reject));
  }

  static allSettled(items) {
    return OwnPromise.#every(this, items, (promise, done) => promise.then(
      (value) => done({ status: 'fulfilled', value }),
      (reason) => done({ status: 'rejected', reason }),
    ));
  }

  static any(items) {
    const failed = OwnPromise.#every(this, items, (promise, done, stop) => promise.then(stop, done));
    const turned = failed.then((errors) => {
      throw new AggregateError(errors, 'All promises were rejected');
    }, (value) => value);
    return turned;
  }

  static race(items) {
    return new this((resolve, reject) => {
      for (const item of items) this.resolve(item).then(resolve, reject);
    });
  }
}

export const look = OwnPromise.look;
delete OwnPromise.look;
Object.defineProperty(OwnPromise, 'name', { value: 'Promise' });
export { OwnPromise as Promise };
