// Environments: the rules of a task and what its outcomes are worth.

import { Outcome } from './outcome.js';
import { partsOf } from './parts.js';
import { Problem } from './problem.js';
import { Random, owningSplit } from './random.js';
import { checked, listed, values } from './settings.js';
import { load, save } from './state.js';

/** Problems to draw before the settings are called impossible. */
const DRAWS = 10_000;

/**
 * One task being worked on. A subclass has `static description`, `start`,
 * `rules`, `observe` and `act`; the other methods have defaults. Its fields are
 * its state: they are saved and restored, but for those whose name begins with #.
 */
export class Environment {
  /** What follows from the settings: `vocabulary`, `maxTurns`, `isPrivate`, `needsRecords`. */
  static configure(_settings) {
    return {};
  }

  /** Carries out moves at the same time: by default one after the other, until one ends it. */
  actTogether(moves) {
    const all = new Outcome([]);
    moves.forEach(({ seat, action }, place) => {
      if (all.status === 'ongoing') all.append(this.act(action, seat), place);
      else all.effects.push({ accepted: false, feedback: 'The episode is over.' });
    });
    return all;
  }

  /** The expert's next action: a text, which is of the first kind, or an action. By default none. */
  demonstrate(_seat) {
    return null;
  }

  /** What only a critic may see, such as the solution. By default nothing. */
  reveal() {
    return null;
  }

  /** The state as bytes; null has the host replay the actions instead. */
  save() {
    return save(this);
  }

  /** Goes on from what `save` returned. */
  static restore(bytes) {
    return load(this, bytes);
  }
}

/** A task as authors see it: settings by name, and chance. */
export class Task {
  constructor({ split, seed, settings, seats, entry }) {
    this.split = split;
    this.seed = seed;
    this.settings = values(settings);
    this.seats = seats;
    this.entry = entry ?? null;
  }

  /** The task's numbers for one purpose. */
  random(purpose = '') {
    return new Random(this.split, this.seed, purpose);
  }

  /**
   * What `draw` makes of random numbers, the first that belongs to the task's
   * split: no problem is then in two. `key` is what tells problems apart.
   */
  draw(purpose, draw, key = String) {
    const random = this.random(purpose);
    for (let drawn = 0; drawn < DRAWS; drawn++) {
      const problem = draw(random);
      if (owningSplit(key(problem)) === this.split) return problem;
    }
    throw Problem.settings(`no ${purpose} for ${this.split} turned up in ${DRAWS} draws`);
  }
}

/** The class's description as the contract has it. */
export function describeEnvironment({ description }) {
  const kind = ([name, summary]) => ({ name, summary });
  return {
    name: description.name,
    version: description.version,
    summary: description.summary,
    settings: listed(description.settings ?? {}),
    actions: Object.entries(description.actions).map(kind),
    workflows: description.workflows ?? ['solo'],
    needs: { memoryMib: null, fuel: null, ...description.needs },
    extras: [...reusable(description), ...Object.entries(description.presets ?? {}).map(preset)],
  };
}

/** Nothing outside of the object is kept: then the host may use an instance again. */
export function reusable(description) {
  return description.reusable ? [{ key: 'reusable', value: '' }] : [];
}

function preset([name, { summary, settings }]) {
  const lines = Object.entries(settings).map(([key, value]) => `\n${key} = ${toml(value)}`);
  return { key: 'preset', value: `${name}\n${summary}${lines.join('')}` };
}

const toml = (value) => (typeof value === 'string' ? JSON.stringify(value) : String(value));

/** What the class makes of settings, with what it left out filled in. */
export function configureEnvironment(Class, configured) {
  const settings = checked(Class.description.settings ?? {}, configured);
  const { seats, takesRecords, ...said } = Class.configure(settings) ?? {};
  const extras = [];
  if (takesRecords) extras.push({ key: 'records', value: 'optional' });
  if (seats) extras.push({ key: 'seats', value: seats.join(' ') });
  const usual = { vocabulary: [], maxTurns: 10, isPrivate: false, needsRecords: false };
  return { ...usual, ...said, extras };
}

/** An environment that knows when it is over: what the host talks to. */
export class Episode {
  constructor(Class, environment, over) {
    this.Class = Class;
    this.environment = environment;
    this.over = over;
  }

  static start(Class, task) {
    const environment = new Class();
    environment.start(new Task(task));
    return new Episode(Class, environment, false);
  }

  rules(seat) {
    return this.environment.rules(seat);
  }

  observe(seat) {
    return partsOf(this.environment.observe(seat));
  }

  act(moves) {
    if (this.over) throw Problem.order('the episode is over');
    if (moves.length === 0) throw Problem.order('nobody moves');
    for (const { action } of moves) {
      if (Object.hasOwn(this.Class.description.actions, action.kind)) continue;
      throw Problem.order(`there is no action of kind \`${action.kind}\` here`);
    }
    const [{ seat, action }] = moves;
    const together = moves.length > 1;
    const outcome = together ? this.environment.actTogether(moves) : this.environment.act(action, seat);
    if (!(outcome instanceof Outcome)) throw new TypeError('`act` did not return an Outcome');
    this.over = outcome.status !== 'ongoing';
    const { effects, awards, status } = outcome;
    return { effects, awards, status };
  }

  demonstrate(seat) {
    const said = this.over ? null : this.environment.demonstrate(seat) ?? null;
    if (typeof said !== 'string') return said;
    return { kind: Object.keys(this.Class.description.actions)[0], text: said };
  }

  reveal() {
    return this.environment.reveal() ?? null;
  }

  /** The environment's bytes, and whether it is over. */
  save() {
    const state = this.environment.save();
    if (state === null) return null;
    const bytes = new Uint8Array(state.length + 1);
    bytes.set(state);
    bytes[state.length] = this.over ? 1 : 0;
    return bytes;
  }

  static resume(Class, bytes) {
    const state = bytes instanceof Uint8Array ? bytes : Uint8Array.from(bytes);
    const over = state[state.length - 1];
    if (over !== 0 && over !== 1) throw Problem.state('it does not end as a saved state');
    return new Episode(Class, Class.restore(state.subarray(0, -1)), over === 1);
  }
}

