// Why a call could not be served. A problem is never a reward: the episode is void.

const FAULTS = ['settings', 'task', 'state', 'order', 'internal'];

export class Problem extends Error {
  /** The fault is one of `settings`, `task`, `state`, `order` and `internal`. */
  constructor(fault, message) {
    super(message);
    this.fault = FAULTS.includes(fault) ? fault : 'internal';
  }

  static settings(message) { return new Problem('settings', message); }
  static task(message) { return new Problem('task', message); }
  static state(message) { return new Problem('state', message); }
  static order(message) { return new Problem('order', message); }
}

/** What the contract calls a problem, whatever was thrown. */
export function problemOf(thrown) {
  if (thrown instanceof Problem) return { fault: thrown.fault, message: thrown.message };
  if (!(thrown instanceof Error)) return { fault: 'internal', message: String(thrown) };
  const place = String(thrown.stack ?? '').split('\n').find((line) => /^\s*at /.test(line)) ?? '';
  const message = `${thrown.name}: ${thrown.message} ${place.trim()}`.trim();
  return { fault: 'internal', message };
}

/** Runs a call of the host; the binding takes a thrown record for the result's error. */
export function served(call) {
  try {
    return call();
  } catch (thrown) {
    throw problemOf(thrown);
  }
}
