// `require('events')`.

export class EventEmitter {
  #listeners = new Map();

  on(name, listener) {
    const list = this.#listeners.get(name) ?? [];
    this.#listeners.set(name, [...list, listener]);
    return this;
  }

  addListener(name, listener) { return this.on(name, listener); }

  prependListener(name, listener) {
    this.#listeners.set(name, [listener, ...(this.#listeners.get(name) ?? [])]);
    return this;
  }

  once(name, listener) {
    const wrapper = (...args) => {
      this.off(name, wrapper);
      return listener.apply(this, args);
    };
    wrapper.listener = listener;
    return this.on(name, wrapper);
  }

  off(name, listener) {
    const list = this.#listeners.get(name) ?? [];
    const at = list.findLastIndex((other) => other === listener || other.listener === listener);
    if (at >= 0) this.#listeners.set(name, list.toSpliced(at, 1));
    return this;
  }

  removeListener(name, listener) { return this.off(name, listener); }

  removeAllListeners(name) {
    if (name === undefined) this.#listeners.clear();
    else this.#listeners.delete(name);
    return this;
  }

  emit(name, ...args) {
    const list = this.#listeners.get(name) ?? [];
    if (list.length === 0 && name === 'error') throw args[0];
    for (const listener of list) listener.apply(this, args);
    return list.length > 0;
  }

  listeners(name) { return (this.#listeners.get(name) ?? []).map((l) => l.listener ?? l); }
  listenerCount(name) { return (this.#listeners.get(name) ?? []).length; }
  eventNames() { return [...this.#listeners.keys()]; }
  setMaxListeners() { return this; }
}

EventEmitter.EventEmitter = EventEmitter;
EventEmitter.once = (emitter, name) =>
  new Promise((resolve) => emitter.once(name, (...args) => resolve(args)));
