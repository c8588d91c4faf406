// A number is to be guessed; every guess is answered by "higher" or "lower".

import { Environment, last, Outcome } from 'troupe-plugin';

const HIGHEST = 100;

export default class {{Name}} extends Environment {
  static description = {
    name: '{{name}}',
    version: '0.1.0',
    summary: `Guess a number from 1 to ${HIGHEST} in 8 turns.`,
    actions: { guess: `one whole number from 1 to ${HIGHEST}` },
  };

  // Every word that observations and actions may have, for policies that are
  // too small to spell; and how many turns an episode needs at most.
  static configure() {
    const numbers = Array.from({ length: HIGHEST + 2 }, (_, number) => `${number}`);
    return { vocabulary: ['above', 'below', ...numbers], maxTurns: 8 };
  }

  // Fields are the state: they are saved and restored by themselves.
  start(task) {
    this.number = task.draw('number', (random) => random.between(1, HIGHEST));
    [this.above, this.below] = [0, HIGHEST + 1];
  }

  rules() {
    return `Guess a whole number from 1 to ${HIGHEST}. You are told the numbers `
      + 'that it is known to be above and below.';
  }

  observe() {
    return `above ${this.above} below ${this.below}`;
  }

  act({ text }) {
    let guess;
    try {
      guess = last(text, readNumber);
    } catch (error) {
      return Outcome.rejected(error.message).local('unreadable', -0.1);
    }
    if (guess === this.number) return Outcome.accepted('Right.').team('solved', 1).solved();
    const higher = guess < this.number;
    if (higher) this.above = Math.max(this.above, guess);
    else this.below = Math.min(this.below, guess);
    return Outcome.accepted(higher ? 'It is higher.' : 'It is lower.');
  }

  // The expert halves what is left. It must not peek at the number.
  demonstrate() {
    return String(Math.floor((this.above + this.below) / 2));
  }
}

function readNumber(text) {
  const guess = /^\d{1,3}$/.test(text) ? Number(text) : 0;
  if (guess < 1 || guess > HIGHEST) throw new Error(`Say a number from 1 to ${HIGHEST}.`);
  return guess;
}
