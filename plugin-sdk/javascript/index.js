// What a plugin imports; `testing.js` is for its tests.

export { Environment } from './src/environment.js';
export { log, retrieval, sandbox } from './src/host.js';
export { image } from './src/parts.js';
export { Outcome } from './src/outcome.js';
export { Problem } from './src/problem.js';
export { Proposals } from './src/proposals.js';
export { Random, owningSplit } from './src/random.js';
export { answerOf, finalAnswer, last, marked, program, words } from './src/reading.js';
export { choice, flag, integer, number, text } from './src/settings.js';
export { Step } from './src/step.js';
export { seenBy, Workflow } from './src/workflow.js';
