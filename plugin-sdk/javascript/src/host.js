// What the host serves. In a component the generated entry puts the imports in;
// natively a test may put something in their place.

import { Problem } from './problem.js';

/** The imports that are there; filled in by the entry, or by `grant` in a test. */
export const imports = { log: null, sandbox: null, retrieval: null };

/** Lines in the run's log; natively they go to the console. */
export const log = {
  debug(line) { write('debug', line); },
  info(line) { write('info', line); },
  warning(line) { write('warning', line); },
};

function write(level, line) {
  if (imports.log) imports.log.write(level, String(line));
  else console.error(`${level}: ${line}`);
}

const LIMITS = { fuel: 250e9, timeoutMs: 360_000, memoryMib: 512, outputBytes: 1 << 20 };

/**
 * Runs model-written programs: say `grants: ['sandbox']` in the description. No
 * execution is never the program's fault: it is thrown as a problem, which voids
 * the episode.
 */
export const sandbox = {
  /** One run on one input; what limits leaves out is the default. */
  run(language, program, stdin = [], limits = {}) {
    return answered(() => granted('sandbox').run(language, program, stdin, { ...LIMITS, ...limits }), noExecution);
  },

  /** Many runs, each on an input of its own. */
  runBatch(language, program, stdins, limits = {}) {
    return granted('sandbox').runBatch(language, program, stdins, { ...LIMITS, ...limits }).map(({ tag, val }) => {
      if (tag === 'err') throw noExecution(val);
      return val;
    });
  },
};

/**
 * Searches a corpus: say `grants: ['retrieval']` in the description. A query that
 * is refused throws an error that says why.
 */
export const retrieval = {
  search(query, limit = 8) {
    return answered(() => granted('retrieval').search(query, limit), (why) => new Error(why));
  },
};

function noExecution({ tag, val }) {
  const why = tag === 'unknown-language' ? `no interpreter for \`${val}\` is loaded` : `the sandbox failed: ${val}`;
  return new Problem('internal', why);
}

/** What a call returns; the error of its result becomes what `meaning` makes of it. */
function answered(call, meaning) {
  try {
    return call();
  } catch (thrown) {
    throw thrown instanceof Error && thrown.payload === undefined ? thrown : meaning(thrown.payload ?? thrown);
  }
}

function granted(name) {
  if (imports[name]) return imports[name];
  throw new Error(`the description does not say \`grants: ['${name}']\``);
}
