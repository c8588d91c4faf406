// What the host serves. In a component the generated entry puts the imports in;
// natively a test may put something in their place.

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

/** Runs model-written programs: say `grants: ['sandbox']` in the description. */
export const sandbox = {
  /** One run on one input; what limits leaves out is the default. */
  run(language, program, stdin = [], limits = {}) {
    return granted('sandbox').run(language, program, stdin, { ...LIMITS, ...limits });
  },

  /** Many runs, each on an input of its own. */
  runBatch(language, program, stdins, limits = {}) {
    return granted('sandbox').runBatch(language, program, stdins, { ...LIMITS, ...limits });
  },
};

/** Searches a corpus: say `grants: ['retrieval']` in the description. */
export const retrieval = {
  search(query, limit = 8) {
    return granted('retrieval').search(query, limit);
  },
};

function granted(name) {
  if (imports[name]) return imports[name];
  throw new Error(`the description does not say \`grants: ['${name}']\``);
}
