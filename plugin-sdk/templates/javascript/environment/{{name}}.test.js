import assert from 'node:assert/strict';
import test from 'node:test';

import { begin, check } from 'troupe-plugin/testing';
import {{Name}} from './{{name}}.js';

test('a right guess solves it and hints lead there', () => {
  const episode = begin({{Name}}, { seed: 1 });
  const { number } = episode.environment;
  const wrong = episode.act(String(number === 1 ? 2 : number - 1));
  assert.equal(wrong.effects[0].accepted, true);
  assert.equal(episode.act(`I say **${number}**.`.replace('.', '')).status, 'ongoing');
  assert.equal(episode.act(`So:\n${number}`).status, 'solved');
});

test('what is no number costs', () => {
  assert.equal(begin({{Name}}).act('seven').awards[0].value, -0.1);
});

test('the expert solves every task, and saved episodes go on alike', () => check({{Name}}));
