// Workflows: who speaks when, what they are told, and what becomes of their answers.

import { reusable } from './environment.js';
import { partsOf, sameSeat, seatOf, textOf } from './parts.js';
import { Problem } from './problem.js';
import { answerOf, trimEnd, words } from './reading.js';
import { checked, listed, text, values } from './settings.js';
import { load, save } from './state.js';
import { Step } from './step.js';

const FIELD = /\{([a-z_]+)\}/g;
/** The setting by which users choose the kind of action that is sent. */
const KIND = 'kind';

/**
 * A state machine beside one episode. A subclass has `static description` and
 * `begun`, `replied` and `acted`, which return a Step. Its fields are its state.
 *
 * A role of the description has a `summary`, a `task` (standing instructions)
 * and a `message` with fields in braces, such as `{observation}`. Users may
 * override both by the settings `<role>_task` and `<role>_message`.
 */
export class Workflow {
  /** The seats of each role: by default what the description says, or 1. */
  static seats(_role, _settings) {
    return null;
  }

  /** Takes the briefing: `settings` by name, `rules`, `actions`, `maxTurns`, `tools`. */
  start(_briefing) {}

  /** The episode begins; these views can be seen. */
  begun(_views) { throw Problem.order('the session has already begun'); }

  /** A seat answered: `reply.said` is what it said after thinking. */
  replied(reply) { throw Problem.order(`\`${reply.seat.role}\` was not asked`); }

  /** The environment carried out moves. */
  acted(_consequence) { throw Problem.order('nobody was to act'); }

  /** Tools answered. */
  returned(_answers) { throw Problem.order('no tool was called'); }

  /** How the seat would phrase the expert's action; null if it would not speak to it. */
  demonstrate(_seat, expert) {
    return expert.text;
  }

  /**
   * The request to a seat of a role, with the values of its message's fields;
   * more may be said of it, such as `isOpen`, `thread`, `caller` and `tools`.
   */
  request(seat, fields, more = {}) {
    const { role, instance } = seatOf(seat);
    const { system, message } = this.prompts[role];
    const told = trimEnd(message.replace(FIELD, (_, name) => fields[name] ?? ''));
    const said = (author, parts) => ({ author, parts: partsOf(parts) });
    return { seat: { role, instance }, messages: [said('system', system), said('user', told)], ...more };
  }

  /** Ask one seat. */
  ask(seat, fields) {
    return Step.ask(this.request(seat, fields));
  }

  /** Let the seat do this, with the kind of action that was chosen for the run. */
  act(seat, text) {
    return Step.act(seat, this.kind, text);
  }

  save() {
    return save(this);
  }

  static restore(bytes) {
    return load(this, bytes);
  }
}

/** What the seat sees, as text; nothing if it sees nothing. */
export function seenBy(views, seat) {
  const view = views.find(({ seat: whose }) => whose == null || sameSeat(whose, seatOf(seat)));
  return view ? textOf(view.parts) : '';
}

const settingOf = (role, what) => `${role.replaceAll('-', '_')}_${what}`;
const fieldsOf = (message) => [...message.matchAll(FIELD)].map(([, name]) => name);

function settingsOf({ settings = {}, roles, actions = [] }) {
  const all = { ...settings };
  if (actions.length === 0) all[KIND] = text('Kind of action to send; empty for the first that the environment has.');
  for (const [role, { task = '', message }] of Object.entries(roles)) {
    const fields = fieldsOf(message).map((name) => `{${name}}`).join(' ');
    all[settingOf(role, 'task')] = text(`The ${role}'s task.`, task);
    all[settingOf(role, 'message')] = text(`What the ${role} is told, with ${fields}.`, message);
  }
  return all;
}

export function describeWorkflow({ description }) {
  return {
    name: description.name,
    version: description.version,
    summary: description.summary,
    settings: listed(settingsOf(description)),
    actions: description.actions ?? [],
    needs: { memoryMib: null, fuel: null, ...description.needs },
    extras: [...reusable(description), ...tools(description)],
  };
}

/** What it calls, so that its user is told what has to be granted. */
function tools({ tools: called = [] }) {
  return called.length > 0 ? [{ key: 'tools', value: called.join(' ') }] : [];
}

export function configureWorkflow(Class, configured, kinds) {
  const settings = checked(settingsOf(Class.description), configured);
  chosenKind(Class, settings, kinds);
  const roles = [];
  const vocabulary = new Set();
  for (const [name, { summary, seats = 1, message }] of Object.entries(Class.description.roles)) {
    const told = settings[settingOf(name, 'message')];
    checkFields(settingOf(name, 'message'), told, fieldsOf(message));
    words(told.replace(FIELD, ' ')).forEach((word) => vocabulary.add(word));
    roles.push({ name, summary, seats: Class.seats(name, settings) ?? seats });
  }
  return { roles, vocabulary: [...vocabulary], extras: [] };
}

/** A message with a field that nobody fills in would be told as it is written. */
function checkFields(setting, message, known) {
  const unknown = fieldsOf(message).find((name) => !known.includes(name));
  if (unknown === undefined) return;
  const allowed = known.map((name) => `\`{${name}}\``).join(', ');
  throw Problem.settings(`\`${setting}\` has the field \`{${unknown}}\`, but may only have ${allowed}`);
}

/** The kind that roles act with: what the description or the user names, or the first. */
function chosenKind({ description: { actions = [] } }, settings, kinds) {
  const find = (name) => {
    const kind = kinds.find((known) => known.name === name);
    if (kind) return kind;
    const known = kinds.map((one) => `\`${one.name}\``).join(', ');
    throw Problem.settings(`the environment understands no action \`${name}\`, only ${known}`);
  };
  if (actions.length > 0) return actions.map(find)[0];
  if (settings[KIND]) return find(settings[KIND]);
  if (kinds.length === 0) throw Problem.settings('the environment understands no action');
  return kinds[0];
}

/** A session that tells an author's class what happened: what the host talks to. */
export class Session {
  constructor(Class, workflow) {
    this.Class = Class;
    this.workflow = workflow;
  }

  static start(Class, briefing) {
    const workflow = new Class();
    const settings = values(briefing.settings);
    const kind = chosenKind(Class, settings, briefing.actions);
    workflow.kind = kind.name;
    workflow.prompts = {};
    for (const [role, { acts }] of Object.entries(Class.description.roles)) {
      const task = settings[settingOf(role, 'task')];
      const told = acts ? `${task} ${endWith(kind)}`.trimStart() : task;
      const system = `${rulesFor(briefing.rules, role)}\n\n${told}`;
      workflow.prompts[role] = { system, message: settings[settingOf(role, 'message')] };
    }
    workflow.start({ ...briefing, settings });
    return new Session(Class, workflow);
  }

  advance({ tag, val }) {
    if (tag === 'replied') val.said = answerOf(val.text, val.complete);
    return this.workflow[tag](val);
  }

  demonstrate(seat, expert) {
    return this.workflow.demonstrate(seat, expert) ?? null;
  }

  save() {
    return this.workflow.save();
  }

  static resume(Class, bytes) {
    return new Session(Class, Class.restore(bytes));
  }
}

const endWith = ({ summary }) =>
  `You may think first. End your answer with ${summary}, and nothing after it.`;

function rulesFor(rules, role) {
  const found = rules.find(([whose]) => whose == null || sameSeat(whose, seatOf(role)));
  return found ? found[1] : '';
}
