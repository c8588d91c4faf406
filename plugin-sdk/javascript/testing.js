// A stand-in for the host: plays environments and workflows natively, through
// the same glue as a component does, and is as strict about what they return.

import assert from 'node:assert/strict';

import { environmentOf, workflowOf } from './src/component.js';
import { imports } from './src/host.js';
import { seatOf, textOf } from './src/parts.js';

const SPLITS = ['train', 'validation', 'test'];
const TURNS = 1000;

/** Begins a task; what the options leave out is the default. */
export function begin(Class, options = {}) {
  const contract = environmentOf(Class);
  const { split = 'train', seed = 0, settings = {}, seats = ['player'], entry = null } = options;
  const configured = configuredBy(contract.describe().settings, settings);
  const task = { split, seed, settings: configured, seats: seats.map(seatOf), entry };
  const configuration = thrown(() => contract.configure(configured));
  return new TestEpisode(contract, configuration, thrown(() => contract.Episode.start(task)));
}

/** One episode, as the host would talk to it. */
class TestEpisode {
  constructor(contract, configuration, resource) {
    Object.assign(this, { contract, configuration, resource });
    this.kinds = contract.describe().actions.map(({ name }) => name);
  }

  /** The author's own object, to look into. */
  get environment() { return this.resource.episode.environment; }

  rules(seat = 'player') { return this.call('rules', seatOf(seat)); }
  observe(seat = 'player') { return textOf(this.call('observe', seatOf(seat))); }
  demonstrate(seat = 'player') { return this.call('demonstrate', seatOf(seat)); }
  save() { return this.call('save'); }

  /** Does this; of the first kind, by the seat `player`, unless something else is said. */
  act(text, { kind = this.kinds[0], seat = 'player' } = {}) {
    return this.move([{ seat: seatOf(seat), action: { kind, text } }]);
  }

  /** Carries out moves at the same time. */
  move(moves) {
    const outcome = this.call('act', moves);
    assert.equal(outcome.effects.length, moves.length, 'an outcome has one effect a move');
    for (const { name, value } of outcome.awards) {
      assert.ok(Number.isFinite(value), `the award \`${name}\` is ${value}`);
    }
    return outcome;
  }

  /** The episode that the saved state of this one gives. */
  copy() {
    const resource = thrown(() => this.contract.Episode.resume(this.save()));
    return new TestEpisode(this.contract, this.configuration, resource);
  }

  call(method, ...given) {
    return thrown(() => this.resource[method](...given));
  }
}

/**
 * Plays the expert in some tasks of every split: it has to solve them within
 * the advised turns, saved episodes have to go on alike, words have to be in the
 * vocabulary, and calls that only look must change nothing.
 */
export function check(Class, { tasks = 10, settings = {}, seat = 'player' } = {}) {
  const seen = new Map();
  for (const split of SPLITS) {
    for (let seed = 0; seed < tasks; seed++) {
      const episode = begin(Class, { split, seed, settings, seats: [seat] });
      const start = `${episode.observe(seat)} ${episode.save() ?? ''}`;
      const owner = seen.get(start) ?? split;
      assert.equal(owner, split, `task ${seed} of ${split} is in ${owner} too`);
      seen.set(start, split);
      checkExpert(episode, seat, `task ${seed} of ${split}`);
    }
  }
}

function checkExpert(episode, seat, where) {
  const { maxTurns, vocabulary } = episode.configuration;
  for (let turn = 1; ; turn++) {
    const action = episode.demonstrate(seat);
    if (action === null) return;
    assert.ok(turn <= maxTurns, `the expert needs more than ${maxTurns} turns in ${where}`);
    const told = [episode.observe(seat), action.text].join(' ').split(/\s+/).filter(Boolean);
    const strange = vocabulary.length > 0 && told.find((word) => !vocabulary.includes(word));
    assert.ok(!strange, `\`${strange}\` is not in the vocabulary (${where})`);
    const copy = episode.save() === null ? null : episode.copy();
    const outcome = episode.act(action.text, { kind: action.kind, seat });
    if (copy) {
      assert.deepEqual(copy.act(action.text, { kind: action.kind, seat }), outcome, `a saved episode goes on differently in turn ${turn} of ${where}`);
      assert.equal(copy.observe(seat), episode.observe(seat), `a saved episode looks different in ${where}`);
    }
    if (outcome.status === 'solved') return;
    assert.equal(outcome.status, 'ongoing', `the expert fails in ${where}`);
  }
}

/**
 * Plays a workflow beside an environment to its end. `answer` gets the request
 * and returns what the seat says; without it the expert speaks. Returns who was
 * told and said what.
 */
export function rehearse(Class, Environment, answer = null, options = {}) {
  const episode = begin(Environment, options.environment);
  const contract = workflowOf(Class);
  const actions = episode.contract.describe().actions;
  const settings = configuredBy(contract.describe().settings, options.settings ?? {});
  const { roles } = thrown(() => contract.configure(settings, actions));
  const rules = [[null, episode.rules()]];
  const briefing = { environment: 'test', rules, actions, settings, maxTurns: 10, tools: [], revealed: null };
  const session = thrown(() => contract.Session.start(briefing));
  return new Rehearsal(episode, session, roles, answer).play();
}

class Rehearsal {
  constructor(episode, session, roles, answer) {
    Object.assign(this, { episode, session, roles, answer, due: [], said: [] });
  }

  play() {
    let event = { tag: 'begun', val: this.views() };
    for (let turn = 0; turn < TURNS; turn++) {
      const step = thrown(() => this.session.advance(event));
      if (step.directive.tag === 'finish') return this.said;
      event = this.follow(step.directive);
    }
    throw new Error(`the workflow has not come to an end after ${TURNS} steps`);
  }

  follow({ tag, val }) {
    if (tag === 'act') return { tag: 'acted', val: this.consequence(val) };
    if (tag === 'ask') this.due.push(...val);
    assert.ok(tag === 'ask' || tag === 'wait', `a rehearsal cannot \`${tag}\``);
    assert.ok(this.due.length > 0, 'it waits, but no answer is due');
    return { tag: 'replied', val: this.reply(this.due.shift()) };
  }

  reply(request) {
    const { seat, thread, messages } = request;
    const role = this.roles.find(({ name }) => name === seat.role);
    assert.ok(role && seat.instance < role.seats, `there is no seat ${seat.role} ${seat.instance}`);
    const told = textOf(messages.at(-1).parts);
    const text = this.answer ? this.answer({ ...request, told }) : this.expert(seat);
    this.said.push({ seat, told, text });
    return { seat, answer: this.said.length - 1, thread, text, complete: true };
  }

  expert(seat) {
    const action = this.episode.demonstrate(seat);
    assert.ok(action, 'the environment has no expert');
    return thrown(() => this.session.demonstrate(seat, action)) ?? '';
  }

  consequence(moves) {
    const { effects, status } = this.episode.move(moves);
    const results = effects.map((effect, place) => ({ seat: moves[place].seat, ...effect }));
    return { results, views: this.views(), revealed: null, status };
  }

  views() {
    return [{ seat: null, parts: [{ tag: 'text', val: this.episode.observe() }] }];
  }
}

/** Puts something in the place of the sandbox or of retrieval. */
export function grant(name, standIn) {
  imports[name] = standIn;
}

function configuredBy(declared, chosen) {
  const all = new Map(declared.map(({ name, default: initial }) => [name, initial]));
  for (const [name, val] of Object.entries(chosen)) all.set(name, { tag: 'text', ...all.get(name), val });
  return [...all].map(([name, value]) => ({ name, value }));
}

/** A test is told of a problem as an error that says it. */
function thrown(call) {
  try {
    return call();
  } catch (problem) {
    if (problem instanceof Error) throw problem;
    const { fault, message } = problem;
    throw Object.assign(new Error(`${fault}: ${message}`), { fault });
  }
}
