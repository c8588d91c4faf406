// {{Name}}: find a number from 1 to 100 within eight guesses.

import { Environment, last, Outcome } from 'troupe-plugin';

const TURNS = 8;
// Numbers, and what lies around them, are words for small policies.
const WORDS = Array.from({ length: 102 }, (_, number) => `${number}`);

export default class {{Name}} extends Environment {
  static description = {
    name: '{{name}}',
    version: '0.1.0',
    summary: 'Find a number from 1 to 100.',
    actions: { guess: 'one whole number, such as `7`' },
    reusable: true, // nothing is kept outside of the fields
  };

  static configure() {
    return { vocabulary: ['above', 'below', ...WORDS], maxTurns: TURNS };
  }

  start(task) {
    // Drawn until it belongs to the task's split: no secret is in two.
    this.secret = task.draw('secret', (random) => random.between(1, 100));
    this.above = 0;
    this.below = 101;
    this.guesses = 0;
  }

  rules() {
    return `Find the secret number within ${TURNS} guesses. You are told above `
      + 'and below which numbers it lies.';
  }

  observe() {
    return `above ${this.above} below ${this.below}`;
  }

  act({ text }) {
    this.guesses += 1;
    const outcome = this.answer(text);
    const isLate = this.guesses === TURNS && outcome.status === 'ongoing';
    return isLate ? outcome.failed() : outcome;
  }

  answer(text) {
    const guess = read(text);
    if (guess === null) {
      const told = 'This is not a number from 1 to 100.';
      return Outcome.rejected(told).local('unreadable', -0.1);
    }
    if (guess === this.secret) return Outcome.accepted().team('found', 1).solved();
    const before = this.below - this.above;
    if (guess < this.secret) this.above = Math.max(this.above, guess);
    else this.below = Math.min(this.below, guess);
    // What is left shrinks and never grows, so this cannot be earned twice.
    const narrowed = (before - (this.below - this.above)) / 100;
    return Outcome.accepted().team('narrowed', 0.5 * narrowed);
  }

  // The expert halves what is left; it must not peek at the secret.
  demonstrate() {
    return `${Math.floor((this.above + this.below) / 2)}`;
  }
}

// The number that an answer comes to, wherever in it that stands.
function read(text) {
  const number = (passage) => {
    if (!/^([1-9]\d?|100)$/.test(passage)) throw new Error('no number');
    return Number(passage);
  };
  try {
    return last(text, number);
  } catch {
    return null;
  }
}
