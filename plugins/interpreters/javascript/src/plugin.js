// The component's exports.

import { run } from './program.js';

export const interpreter = {
  describe() {
    return {
      language: 'javascript',
      version: 'QuickJS-ng (ECMAScript 2025)',
      summary: 'Runs JavaScript programs that are written for Node.js and need no packages.',
    };
  },

  run,
};
