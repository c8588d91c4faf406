import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';

import { answerOf, choice, Environment, finalAnswer, flag, integer, last, number, Outcome, owningSplit, Problem, Proposals, Random, retrieval, sandbox, text, Workflow } from '../index.js';
import { bare, trimEnd } from '../src/reading.js';
import { checked } from '../src/settings.js';
import { load, save } from '../src/state.js';
import { begin, check, grant } from '../testing.js';

// Node 18, the oldest that the SDK is for, has none of these.
for (const name of ['toReversed', 'toSorted', 'toSpliced', 'with']) delete Array.prototype[name];
for (const name of ['isWellFormed', 'toWellFormed']) delete String.prototype[name];

const read = (path) => readFileSync(new URL(path, import.meta.url), 'utf8');
const chance = JSON.parse(read('../../tests/chance.json'));

test('chance is that of every other language', () => {
  for (const { split, seed, purpose, bits, below, shuffled, chosen } of chance.random) {
    const fresh = () => new Random(split, seed, purpose);
    const random = fresh();
    assert.deepEqual(bits.map(() => random.bits().toString(16).padStart(16, '0')), bits);
    const bounded = fresh();
    assert.deepEqual(below.map(([bound]) => [bound, bounded.below(bound)]), below);
    assert.deepEqual(fresh().shuffle([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]), shuffled);
    const choosing = fresh();
    assert.equal([...chosen].map(() => choosing.choose([...'abcde'])).join(''), chosen);
  }
});

test('problems belong to the same split as in every other language', () => {
  for (const { problem, split } of chance.owning) {
    assert.equal(owningSplit(Buffer.from(problem, 'hex')), split, problem);
  }
  assert.equal(owningSplit('größer'), owningSplit(Buffer.from('größer')));
});

test('whatever a field may hold is saved as it is', () => {
  class State {}
  const state = Object.assign(new State(), {
    list: [1, -0, NaN, Infinity, 'ä 🎲', null, undefined, 2n ** 70n],
    map: new Map([['a', new Set([1])]]),
    tagged: { $: 'map', of: 1 },
    bytes: Uint8Array.from([0, 255]),
    random: new Random('test', 3, 'x'),
    proposals: new Proposals(),
    nested: { deep: [{ n: new Map() }] },
  });
  state.proposals.pay({ role: 'a', instance: 0 }, 0.5);
  const saved = save(state);
  assert.ok(saved.every((byte) => byte < 128));
  const restored = load(State, saved);
  assert.deepEqual(restored, state);
  assert.equal(restored.random.bits(), state.random.bits());
});

test('what cannot be saved is refused by its field', () => {
  assert.throws(() => save({ board: { pieces: [new Date(0)] } }), /`board.pieces` holds a Date/);
  assert.throws(() => save({ later() {} }), /`later` holds a function/);
  assert.throws(() => load(Object, Uint8Array.from([123])), { fault: 'state' });
});

test('an answer is found wherever it usually stands', () => {
  const letters = (text) => {
    const found = text.split(/\s+/).filter(Boolean);
    const long = found.find((word) => word.length !== 1);
    if (long) throw new Error(`\`${long}\` is long.`);
    return found.join('');
  };
  for (const text of [
    'a b', 'a\nb', '```\na b\n```', 'I think:\n```text\na\nb\n```\nThat should do.',
    'I tried c.\nThen this:\na\nb', 'c d\n\nRather:\n\na b', 'Let us see\na b\nDone, I hope.', '**a b**',
    'Final answer: a b', '<answer>c</answer> or rather <answer> a b </answer>.', 'So it is $\\boxed{a b}$ I say.',
    `${'ä '.repeat(1 << 17)}\na b`,
  ]) assert.equal(last(text, letters), 'ab', text.slice(-40));
  assert.throws(() => last('why not\nno way', letters), /`no` is long/);
  assert.equal(finalAnswer('2 + 2\nThe answer is 4.\nAnswer: **4**'), '4');
});

test('an answer with long gaps is read as any other', () => {
  const [gap, dots] = [' '.repeat(200_000), '.'.repeat(200_000)];
  assert.equal(bare(`** a${gap}b ** `), `a${gap}b`);
  assert.equal(trimEnd(`a${gap}b${gap}`), `a${gap}b`);
  assert.equal(answerOf(`${gap}a${gap}b${gap}`), `a${gap}b`);
  assert.equal(finalAnswer(`${dots}4${dots}`), `${dots}4`);
  for (const letter of '\t\n\v\f\r \x85\xa0\u1680\u2000\u200a\u2028\u2029\u202f\u205f\u3000') assert.equal(bare(`${letter}a${letter}`), 'a');
  for (const letter of '\u200b\u180e\ufeff') assert.equal(bare(`${letter}a`), `${letter}a`);
});

test('neither thinking nor what the limit cut is an answer', () => {
  assert.equal(answerOf('<think>U?</think>\n\nD D\n'), 'D D');
  assert.equal(answerOf('U?</think>first\nD'), 'first\nD');
  for (const text of [' <think> and no end', 'U?</think>D<think>R?</think> <think>U U']) assert.equal(answerOf(text), '');
  for (const text of ['D D', '<think>U?</think>D D']) assert.equal(answerOf(text, false), '…');
});

class Lamp extends Environment {
  static description = {
    name: 'lamp', version: '1.0.0', summary: '', actions: { press: 'on' },
    settings: { lamps: integer('How many.', 1, 3, 2) },
  };
  static configure({ lamps }) {
    if (lamps === 3) throw Problem.settings('three do not fit');
    return { maxTurns: lamps };
  }
  start({ settings, seed, split }) { Object.assign(this, { left: settings.lamps, serial: `${split} ${seed}` }); }
  rules() { return 'Press.'; }
  observe() { return `${this.left} ${this.serial}`; }
  act({ text }) {
    if (text === 'break') return this.nothing.there;
    return --this.left === 0 ? Outcome.accepted().team('lit', 1).solved() : Outcome.accepted().team('progress', 0);
  }
  demonstrate() { return 'on'; }
}

test('the end ends it, and kinds that were not described are refused', () => {
  const episode = begin(Lamp, { settings: { lamps: 1 } });
  assert.throws(() => episode.act('on', { kind: 'pull' }), { fault: 'order' });
  assert.deepEqual(episode.act('on').awards, [{ to: { tag: 'team' }, name: 'lit', value: 1 }]);
  assert.throws(() => episode.copy().act('on'), /the episode is over/);
  assert.equal(episode.demonstrate(), null);
});

test('exceptions are problems that say where they were thrown', () => {
  assert.throws(() => begin(Lamp, { settings: { lamps: 3 } }), { fault: 'settings', message: 'settings: three do not fit' });
  assert.throws(() => begin(Lamp).act('break'), (error) => {
    return error.fault === 'internal' && /TypeError.*sdk\.test\.js/.test(error.message);
  });
});

test('what is outside of its domain is refused', () => {
  const declared = {
    walls: integer('Walls.', 0, 9, 4),
    slip: number('Chance to slip.', 0, 0.9, 0.5),
    fog: flag('Whether there is fog.', true),
    view: choice('The view.', ['list', 'map']),
    name: text('A name.', 'ann'),
  };
  const value = (tag, val) => ({ tag, val });
  for (const [name, given, reason] of [
    ['walls', value('integer', 10), '`walls` is 10, but must be a whole number from 0 to 9'],
    ['walls', value('number', 4), '`walls` is 4, but must be a whole number from 0 to 9'],
    ['walls', value('integer', 4.5), '`walls` is 4.5, but must be a whole number from 0 to 9'],
    ['slip', value('number', 1.5), '`slip` is 1.5, but must be a number from 0 to 0.9'],
    ['slip', value('number', NaN), '`slip` is NaN, but must be a number from 0 to 0.9'],
    ['fog', value('text', 'yes'), '`fog` is "yes", but must be true or false'],
    ['view', value('text', 'sphere'), '`view` is "sphere", but must be one of "list", "map"'],
    ['name', value('flag', false), '`name` is false, but must be a string'],
    ['doors', value('integer', 1), 'there is no setting `doors`'],
    ['toString', value('integer', 1), 'there is no setting `toString`'],
  ]) assert.throws(() => checked(declared, [{ name, value: given }]), { fault: 'settings', message: reason });
  const right = [{ name: 'walls', value: value('integer', 9) }, { name: 'view', value: value('text', 'map') }];
  assert.deepEqual(checked(declared, right), { walls: 9, view: 'map' });
  for (const settings of [{ lamps: 4 }, { lamps: '1' }, { doors: 1 }]) {
    assert.throws(() => begin(Lamp, { settings }), { fault: 'settings' });
  }
});

test('moves at the same time are made in turn until one ends it', () => {
  const move = { seat: { role: 'player', instance: 0 }, action: { kind: 'press', text: 'on' } };
  const { effects, awards } = begin(Lamp, { settings: { lamps: 2 } }).move([move, move, move]);
  assert.deepEqual(effects.map(({ accepted }) => accepted), [true, true, false]);
  assert.equal(awards.length, 1);
});

test('a check finds state that is forgotten', () => {
  check(Lamp);
  class Forgetful extends Lamp {
    save() { return new Uint8Array(); }
    static restore() { return Object.assign(new this(), { left: 2 }); }
  }
  assert.throws(() => check(Forgetful), /goes on differently|looks different/);
});

test('what the host refuses is thrown with what it says', () => {
  const refusing = (payload) => () => { throw Object.assign(new Error('see error.payload'), { payload }); };
  grant('retrieval', { search: refusing('the query is too long') });
  assert.throws(() => retrieval.search('x'), { message: 'the query is too long' });
  grant('sandbox', {
    run: refusing({ tag: 'unknown-language', val: 'malbolge' }),
    runBatch: () => [{ tag: 'ok', val: { fuel: 1 } }, { tag: 'err', val: { tag: 'harness', val: 'no worker' } }],
  });
  assert.throws(() => sandbox.run('malbolge', ''), { fault: 'internal', message: 'no interpreter for `malbolge` is loaded' });
  assert.throws(() => sandbox.runBatch('python', '', []), { message: 'the sandbox failed: no worker' });
  grant('sandbox', { runBatch: (_language, _program, _stdins, { fuel, memoryMib }) => [{ tag: 'ok', val: { fuel, memoryMib } }] });
  assert.deepEqual(sandbox.runBatch('python', '', [], { fuel: 5 }), [{ fuel: 5, memoryMib: 512 }]);
  grant('sandbox', null);
  assert.throws(() => sandbox.run('python', ''), /does not say `grants: \['sandbox'\]`/);
});

test('a message with a field that nobody fills in is refused', async () => {
  const { workflowOf } = await import('../src/component.js');
  class Echo extends Workflow {
    static description = { name: 'echo', version: '1.0.0', summary: '', tools: ['run', 'search'], roles: { a: { summary: '', message: 'see {observation}' } } };
  }
  const { describe, configure } = workflowOf(Echo);
  assert.deepEqual(describe().extras, [{ key: 'tools', value: 'run search' }]);
  const settings = describe().settings.map(({ name, default: value }) => ({ name, value }));
  assert.deepEqual(configure(settings, [{ name: 'do', summary: '' }]).vocabulary, ['see']);
  settings.find(({ name }) => name === 'a_message').value = { tag: 'text', val: '{plan}' };
  assert.throws(() => configure(settings, [{ name: 'do', summary: '' }]), ({ fault, message }) => fault === 'settings' && message.includes('`{plan}`'));
  settings.push({ name: 'b_message', value: { tag: 'text', val: '' } });
  assert.throws(() => configure(settings, [{ name: 'do', summary: '' }]), { fault: 'settings', message: 'there is no setting `b_message`' });
});

test('the pages of the SDKs show the templates', () => {
  const code = (name, kind, file) => read(`../../templates/${name}/${kind}/${file}`)
    .replaceAll('{{name}}', kind === 'workflow' ? 'pair' : 'guess')
    .replaceAll('{{name_}}', kind === 'workflow' ? 'pair' : 'guess')
    .replaceAll('{{Name}}', kind === 'workflow' ? 'Pair' : 'Guess');
  for (const kind of ['environment', 'workflow']) {
    assert.ok(read('../README.md').includes(code('javascript', kind, '{{name}}.js')), kind);
    assert.ok(read('../../c/README.md').includes(code('c', kind, '{{name_}}.c')), kind);
  }
});
