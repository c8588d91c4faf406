/* What a user has to grant: the sandbox and a corpus. Whoever calls it imports it. */

#include "abi.h"

#include <string.h>

static const char EMPTY[] = "";
static const Execution NONE = {
    .error = EMPTY, .trace = EMPTY, .output = EMPTY, .errors = EMPTY};

#ifdef __wasm__

typedef struct {
  uint8_t kind; /* as in RunEnding */
  union {
    int32_t code;
    AbiList texts[2];
  };
} AbiEnding;

typedef struct {
  uint8_t is_problem;
  union {
    struct {
      AbiEnding ending;
      AbiList output, errors;
      double fuel;
    };
    struct {
      uint8_t kind; /* unknown language, harness */
      AbiList text;
    } problem;
  };
} AbiRun;

typedef struct {
  AbiList id, title, text;
  double score;
} AbiDocument;

typedef struct {
  uint8_t is_refused;
  AbiList list; /* the documents, or why */
} AbiFound;

__attribute__((import_module("troupe:plugin/sandbox@0.2.0"), import_name("run-batch"))) void
sandbox_run_batch(const char *language, size_t language_size, const char *program,
                  size_t program_size, const AbiList *inputs, size_t count, double fuel,
                  uint32_t timeout_ms, uint32_t memory_mib, uint32_t output_bytes, AbiList *runs);
__attribute__((import_module("troupe:plugin/retrieval@0.2.0"), import_name("search"))) void
retrieval_search(const char *query, size_t size, uint32_t limit, AbiFound *found);

static Execution execution_from(const AbiRun *run) {
  if (run->is_problem) {
    const char *why = run->problem.text.start;
    if (run->problem.kind) problem(FAULT_INTERNAL, "the sandbox failed: %s", why);
    else problem(FAULT_INTERNAL, "no interpreter for `%s` is loaded", why);
    return NONE;
  }
  Execution execution = {
      .ending = (RunEnding)run->ending.kind, .error = EMPTY, .trace = EMPTY,
      .output = run->output.start, .output_size = run->output.count,
      .errors = run->errors.start, .errors_size = run->errors.count, .fuel = run->fuel};
  switch (execution.ending) {
    case RUN_EXITED: execution.exit_code = run->ending.code; break;
    case RUN_FAILED: execution.trace = run->ending.texts[1].start; /* fallthrough */
    case RUN_MALFORMED:
    case RUN_CRASHED: execution.error = run->ending.texts[0].start; break;
    default: break;
  }
  return execution;
}

const Execution *run_programs(const char *language, const char *program,
                              const char *const *inputs, size_t count, RunLimits limits) {
  AbiList *given = scratch(count * sizeof(AbiList)), runs;
  for (size_t i = 0; i < count; i++) given[i] = (AbiList){inputs[i], strlen(inputs[i])};
  sandbox_run_batch(language, strlen(language), program, strlen(program), given, count,
                    limits.fuel ? limits.fuel : 250e9,
                    limits.timeout_ms ? limits.timeout_ms : 360000,
                    limits.memory_mib ? limits.memory_mib : 512,
                    limits.output_bytes ? limits.output_bytes : 1 << 20, &runs);
  Execution *executions = scratch(count * sizeof(Execution));
  for (size_t i = 0; i < count; i++)
    executions[i] = execution_from((const AbiRun *)runs.start + i);
  return executions;
}

const Document *search_corpus(const char *query, uint32_t limit, const char **refused) {
  AbiFound found;
  retrieval_search(query, strlen(query), limit, &found);
  *refused = found.is_refused ? found.list.start : NULL;
  size_t count = found.is_refused ? 0 : found.list.count;
  Document *documents = scratch((count + 1) * sizeof(Document));
  for (size_t i = 0; i < count; i++) {
    const AbiDocument *one = (const AbiDocument *)found.list.start + i;
    documents[i] =
        (Document){one->id.start, one->title.start, one->text.start, one->score};
  }
  return documents;
}

#else

/* A native test may define both itself. */

__attribute__((weak)) const Execution *run_programs(const char *language, const char *program,
                                                    const char *const *inputs, size_t count,
                                                    RunLimits limits) {
  (void)language, (void)program, (void)inputs, (void)limits;
  Execution *executions = scratch(count * sizeof(Execution));
  for (size_t i = 0; i < count; i++) executions[i] = NONE;
  problem(FAULT_INTERNAL, "there is no sandbox outside a host");
  return executions;
}

__attribute__((weak)) const Document *search_corpus(const char *query, uint32_t limit,
                                                    const char **refused) {
  (void)query, (void)limit;
  *refused = "there is no corpus outside a host";
  return scratch(sizeof(Document));
}

#endif

const Execution *run_program(const char *language, const char *program, const char *input,
                             RunLimits limits) {
  return run_programs(language, program, &input, 1, limits);
}
