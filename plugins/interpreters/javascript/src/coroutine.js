// What async functions become: generators that are driven by promises.

import { Promise } from './jobs.js';

class Await {
  constructor(value) {
    this.value = value;
  }
}

/** Runs the generator of an async function; its promise. */
export function async(body, self, args) {
  return new Promise((resolve, reject) => {
    const generator = body.apply(self, args);
    const step = (method, value) => {
      let result;
      try {
        result = generator[method](value);
      } catch (error) {
        return reject(error);
      }
      if (result.done) return resolve(result.value);
      Promise.resolve(result.value).then(onward, back);
    };
    const onward = (value) => step('next', value);
    const back = (error) => step('throw', error);
    step('next');
  });
}

/** In an async generator, what `await` yields. */
export const pause = (value) => new Await(value);

/** In an async generator, `yield*`. */
export function* delegate(iterable) {
  const iterator = iterate(iterable);
  let result = yield pause(iterator.next());
  while (!result.done) {
    const sent = yield result.value;
    result = yield pause(iterator.next(sent));
  }
  return result.value;
}

/** The iterator of `for await`. */
export function iterate(iterable) {
  const method = iterable[Symbol.asyncIterator];
  if (method) return method.call(iterable);
  const iterator = iterable[Symbol.iterator]();
  return {
    next: async.bind(null, function* () {
      const result = iterator.next();
      return result.done ? result : { done: false, value: yield result.value };
    }),
  };
}

const prototype = {
  next(value) { return this.enqueue('next', value); },
  throw(error) { return this.enqueue('throw', error); },
  return(value) { return this.enqueue('return', value); },
  [Symbol.asyncIterator]() { return this; },
  get [Symbol.toStringTag]() { return 'AsyncGenerator'; },
};

/** The object that a call of an async generator function returns. */
export function asyncGenerator(body, self, args) {
  const generator = body.apply(self, args);
  const requests = [];
  let busy = false;

  const advance = () => {
    if (busy || requests.length === 0) return;
    busy = true;
    step(requests[0].method, requests[0].value);
  };
  const finish = (action, result) => {
    busy = false;
    requests.shift()[action](result);
    advance();
  };
  const step = (method, value) => {
    let result;
    try {
      result = generator[method](value);
    } catch (error) {
      return finish('reject', error);
    }
    const paused = result.value instanceof Await && !result.done;
    Promise.resolve(paused ? result.value.value : result.value).then(
      (value) => paused ? step('next', value) : finish('resolve', { value, done: result.done }),
      (error) => paused || !result.done ? step('throw', error) : finish('reject', error),
    );
  };
  const enqueue = (method, value) => new Promise((resolve, reject) => {
    requests.push({ method, value, resolve, reject });
    advance();
  });
  return Object.create(prototype, { enqueue: { value: enqueue } });
}
