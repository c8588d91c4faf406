import assert from 'node:assert/strict';
import test from 'node:test';

import { Environment, Outcome } from 'troupe-plugin';
import { rehearse } from 'troupe-plugin/testing';
import {{Name}} from './{{name}}.js';

class Door extends Environment {
  static description = { name: 'door', version: '1.0.0', summary: '', actions: { do: 'a word' } };
  start() {}
  rules() { return 'Open it.'; }
  observe() { return 'a door'; }
  act({ text }) {
    return text === 'open' ? Outcome.accepted().team('solved', 1).solved() : Outcome.rejected('?');
  }
  demonstrate() { return 'open'; }
}

test('the player sees what was proposed, and acts', () => {
  const said = rehearse({{Name}}, Door, ({ seat }) => (seat.role === 'player' ? 'open' : 'push it'));
  assert.deepEqual(said.map(({ seat }) => seat.role), ['proposer', 'player']);
  assert.equal(said[1].told, 'player a door proposal push it');
});

test('the expert speaks for both', () => {
  assert.equal(rehearse({{Name}}, Door).at(-1).text, 'open');
});
