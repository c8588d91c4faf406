import assert from 'node:assert/strict';
import test from 'node:test';

import { begin, check } from 'troupe-plugin/testing';
import {{Name}} from './{{name}}.js';

test('a guess narrows what is left, and the secret solves it', () => {
  const episode = begin({{Name}}, { seed: 1 });
  const { secret } = episode.environment;
  const wrong = secret > 50 ? 50 : 51;
  assert.equal(episode.act(`${wrong}`).awards[0].name, 'narrowed');
  assert.equal(episode.observe().split(' ')[secret > 50 ? 1 : 3], `${wrong}`);
  assert.equal(episode.act(`So it is:\n**${secret}**`).status, 'solved');
});

test('what is no number costs', () => {
  assert.equal(begin({{Name}}).act('seven').awards[0].value, -0.1);
});

test('the expert solves every task, and saved episodes go on alike', () => {
  check({{Name}});
});
