/* Environments and workflows for Troupe, in C.
 *
 * An environment is a `struct State` and a table of functions, named by
 * TROUPE_ENVIRONMENT; a workflow is a `struct Session` and a table, named by
 * TROUPE_WORKFLOW. Both structs are saved and restored as their bytes, so they
 * hold no pointers. Texts that the functions below return last until the call
 * of the host is over, and nobody has to free them. */

#ifndef TROUPE_H
#define TROUPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- What environments and workflows share ---- */

typedef enum { TRAIN, VALIDATION, TEST } Split;
typedef enum { ONGOING, SOLVED, FAILED } Status;

typedef struct {
  const char *role;
  uint32_t instance; /* which of the role's players, from 0 */
} Seat;

/* A form of action: its name, and what its text must look like. */
typedef struct {
  const char *name, *summary;
} ActionKind;

typedef struct {
  const char *kind, *text;
} Action;

typedef struct {
  Seat seat;
  Action action;
} Move;

typedef enum { INTEGER, NUMBER, FLAG, TEXT, CHOICE } Type;

/* What users may choose; write it by the macros below. */
typedef struct {
  const char *name, *summary;
  Type type;
  double low, high, initial; /* of numbers and flags */
  const char *text;          /* the default of a text; all words of a choice,
                                the default first, separated by spaces */
} Setting;

#define INTEGER_SETTING(name, summary, low, high, initial) \
  {name, summary, INTEGER, low, high, initial, 0}
#define NUMBER_SETTING(name, summary, low, high, initial) \
  {name, summary, NUMBER, low, high, initial, 0}
#define FLAG_SETTING(name, summary, initial) {name, summary, FLAG, 0, 0, initial, 0}
#define CHOICE_SETTING(name, summary, words) {name, summary, CHOICE, 0, 0, 0, words}
#define TEXT_SETTING(name, summary, initial) {name, summary, TEXT, 0, 0, 0, initial}

/* Values of settings, of which each is within its domain: others are refused
 * before the plugin sees them. A name that is not declared is a problem. */
typedef struct Settings Settings;
int32_t setting_integer(const Settings *settings, const char *name);
double setting_number(const Settings *settings, const char *name);
bool setting_flag(const Settings *settings, const char *name);
const char *setting_text(const Settings *settings, const char *name);

/* Why a call cannot be served. A problem is never a reward: the episode is void.
 * Report it and return; what the function returns then does not count. */
typedef enum { FAULT_SETTINGS, FAULT_TASK, FAULT_STATE, FAULT_ORDER, FAULT_INTERNAL } Fault;
void problem(Fault fault, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A text, made as by printf. */
char *text(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A text that is made piece by piece; begin with `Words words = {0};`. */
typedef struct {
  char *text; /* never NULL once something was added */
  size_t length, room;
} Words;
void add(Words *words, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Memory that lasts until the call is over, all zero. */
void *scratch(size_t size);

/* A line in the run's log. */
void log_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* What a role says when it has thought: what follows the last `</think>`, or all
 * of it. Of thinking that came to no end nothing counts, nor of an answer that is
 * not complete: the limit cut it, and an ellipsis stands for it, which cannot be read. */
const char *answer_of(const char *text, bool complete);

/* Has `parse` try what is marked as the answer, the whole text, its last code
 * block, and its last lines, until it returns NULL: it could read it. Returns
 * NULL then, or what `parse` said of the last line. */
typedef const char *Parse(const char *passage, void *into);
const char *read_last(const char *text, Parse *parse, void *into);

/* The bytes of the white space that begins here, or 0: that of Unicode, as in
 * every other language. */
size_t white_space_at(const char *text);

/* ---- Chance, which follows from the task ---- */

typedef struct {
  uint64_t state;
} Random;

Random random_for(Split split, uint32_t seed, const char *purpose);
uint64_t random_bits(Random *random);
/* A number below the bound, all equally likely; 0 if the bound is 0. */
size_t random_below(Random *random, size_t bound);
/* A number from `low` to `high`, both included. */
int random_between(Random *random, int low, int high);
void random_shuffle(Random *random, void *items, size_t count, size_t size);

/* The split that a problem belongs to. Whoever draws until a problem belongs to
 * its task's split has disjoint splits. */
Split owning_split(const void *problem, size_t size);

/* ---- What a user has to grant; whoever calls it asks for it ---- */

typedef enum {
  RUN_EXITED,
  RUN_FAILED,    /* by an error: its name, and a short trace */
  RUN_MALFORMED, /* no program of the language: the parser's message */
  RUN_OUT_OF_FUEL,
  RUN_OUT_OF_TIME,
  RUN_OUT_OF_MEMORY,
  RUN_OUTPUT_FLOOD,
  RUN_CRASHED
} RunEnding;

/* What a run left behind. Its texts are never NULL. */
typedef struct {
  RunEnding ending;
  int exit_code;
  const char *error, *trace;
  const char *output, *errors; /* what it wrote; a zero follows */
  size_t output_size, errors_size;
  double fuel;
} Execution;

/* What a run may use; 0 is the usual. */
typedef struct {
  double fuel;
  uint32_t timeout_ms, memory_mib, output_bytes;
} RunLimits;

/* Runs a program in the sandbox, on one input or on each of several. A run that
 * does not take place is a problem, which is reported here. */
const Execution *run_program(const char *language, const char *program, const char *input,
                             RunLimits limits);
const Execution *run_programs(const char *language, const char *program,
                              const char *const *inputs, size_t count, RunLimits limits);

typedef struct {
  const char *id, *title, *text;
  double score;
} Document;

/* The documents that fit best, the best first; ends with zeros. A query that is
 * refused finds none, and `refused` says why; otherwise that is NULL. */
const Document *search_corpus(const char *query, uint32_t limit, const char **refused);

/* ---- Environments ---- */

typedef struct {
  Split split;
  uint32_t seed;
  const Settings *settings;
  const Seat *seats;
  size_t seat_count;
  const char *entry; /* a record of a data set, or NULL */
} Task;

typedef struct {
  const char *vocabulary; /* all words of a small language, or NULL */
  uint32_t max_turns;     /* 10 at first */
  bool is_private, needs_records, takes_records;
  const char *seats; /* roles it is made for, separated by spaces, or NULL */
} Configuration;

enum { MOST_AWARDS = 64 };

typedef struct {
  bool accepted;
  const char *feedback;
} Effect;

typedef struct {
  enum { FOR_TEAM, FOR_MOVER, FOR_SEAT } to;
  uint32_t mover;
  Seat seat;
  const char *name;
  double value;
} Award;

/* What moves led to; at first all were accepted, and the episode goes on. */
typedef struct {
  Status status;
  Effect *effects; /* one a move */
  size_t moves, current;
  Award awards[MOST_AWARDS];
  size_t award_count;
} Outcome;

/* Tells the actor something. */
void tell(Outcome *outcome, const char *feedback);
/* The action was not understood, or not carried out in full. */
void reject(Outcome *outcome, const char *feedback);
/* Awards are summed without discount, so shaping must be a difference of
 * potentials: nothing that returns to a state may earn. 0 leaves no trace. */
void award_team(Outcome *outcome, const char *name, double value);
void award_mover(Outcome *outcome, const char *name, double value);
void award_seat(Outcome *outcome, Seat seat, const char *name, double value);

typedef struct {
  const char *text, *svg;
} Drawing;

/* Values of settings under one name, as lines of TOML. */
typedef struct {
  const char *name, *summary, *settings;
} Preset;

typedef struct State State; /* the author says what is in it */

/* Lists end with an entry of zeros. What is optional may be left out. */
typedef struct {
  const char *name, *version, *summary;
  const ActionKind *actions;
  const Setting *settings;  /* optional */
  const char *workflows;    /* separated by spaces; optional: `solo` */
  const Preset *presets;    /* optional */
  uint32_t memory_mib;      /* what it needs if the usual is too little */
  double fuel;
  bool is_reusable; /* nothing is kept outside of the state */
  void (*configure)(const Settings *settings, Configuration *configuration); /* optional */
  void (*start)(State *state, const Task *task); /* the state is all zero */
  const char *(*rules)(const State *state, const Seat *seat);
  const char *(*observe)(const State *state, const Seat *seat);
  void (*act)(State *state, const Seat *seat, const Action *action, Outcome *outcome);
  /* Moves at the same time; optional: one after the other. */
  void (*act_together)(State *state, const Move *moves, size_t count, Outcome *outcome);
  /* The expert's next action; a text is NULL where there is none. Optional. */
  Action (*demonstrate)(const State *state, const Seat *seat);
  const char *(*reveal)(const State *state); /* what only a critic may see; optional */
  Drawing (*draw)(const State *state);       /* with TROUPE_DRAWN_ENVIRONMENT */
} Environment;

/* ---- Workflows ---- */

/* Fields such as `{observation}` stand in the message. Users may override the
 * texts by the settings `<role>_task` and `<role>_message`. */
typedef struct {
  const char *name, *summary;
  uint32_t seats; /* 0 is 1 */
  const char *task, *message;
  bool acts; /* it is told what an action must look like */
} Role;

typedef struct {
  const char *environment;
  const ActionKind *actions; /* ends with zeros */
  const Settings *settings;
  uint32_t max_turns;
  const char *revealed; /* or NULL */
} Briefing;

typedef struct {
  const char *role; /* NULL: for all */
  uint32_t instance;
  const char *text;
} View;

typedef struct {
  Seat seat;
  uint32_t answer; /* its number in the session */
  const char *said; /* without what was only thought; an ellipsis if it was cut */
  const char *whole;
  const char *thread;
  bool complete;
} Reply;

typedef struct {
  Seat seat;
  bool accepted;
  const char *feedback;
} MoveResult;

typedef struct {
  const MoveResult *results;
  size_t result_count;
  const View *views; /* ends with zeros */
  const char *revealed;
  Status status;
} Consequence;

/* What is to be done next. */
typedef struct Step Step;

/* A field's value; lists end with zeros. */
typedef struct {
  const char *field, *value;
} Field;

#define FIELDS(...) ((const Field[]){__VA_ARGS__, {0}})

/* Ask a seat; several calls in one step ask side by side. What an open answer is
 * worth shows only later: in credits, or at the end. */
void ask(Step *step, Seat seat, const Field *fields);
void ask_open(Step *step, Seat seat, const Field *fields);
/* Let a seat act, by the kind of action that was chosen for the run. */
void let_act(Step *step, Seat seat, const char *text);
/* Let it act by another kind. */
void let_act_by(Step *step, Seat seat, const char *kind, const char *text);
void wait_for_more(Step *step);
void finish(Step *step);
/* An earlier answer was worth this much, and nothing more will be said of it. */
void credit(Step *step, uint32_t answer, const char *name, double value);

/* What a seat sees. */
const char *seen_by(const View *views, Seat seat);

typedef struct Session Session; /* the author says what is in it */

/* Keeps a text with the session, whatever its length, and gives it back; a text
 * that was never kept is empty. */
void keep(Session *session, const char *name, const char *text);
const char *kept(const Session *session, const char *name);

typedef struct {
  const char *name, *version, *summary;
  const Role *roles;       /* ends with zeros */
  const Setting *settings; /* optional */
  const char *actions;     /* kinds it sends, separated by spaces; optional: any */
  bool is_reusable;        /* nothing is kept outside of the session */
  void (*start)(Session *session, const Briefing *briefing); /* optional */
  void (*begun)(Session *session, const View *views, Step *step);
  void (*replied)(Session *session, const Reply *reply, Step *step);
  void (*acted)(Session *session, const Consequence *consequence, Step *step);
  /* How the seat would phrase the expert's action; optional: as it is. */
  const char *(*demonstrate)(const Session *session, const Seat *seat, const Action *expert);
} Workflow;

/* ---- What makes a plugin of the tables ---- */

typedef struct {
  const Environment *table;
  size_t size;
} EnvironmentPlugin;

typedef struct {
  const Workflow *table;
  size_t size;
} WorkflowPlugin;

#include "component.h"

#define TROUPE_ENVIRONMENT(table)                                             \
  const EnvironmentPlugin troupe_environment = {&table, sizeof(State)};       \
  TROUPE_EXPORT_ENVIRONMENT

#define TROUPE_DRAWN_ENVIRONMENT(table) \
  TROUPE_ENVIRONMENT(table)             \
  TROUPE_EXPORT_RENDERING

#define TROUPE_WORKFLOW(table)                                        \
  const WorkflowPlugin troupe_workflow = {&table, sizeof(Session)};   \
  TROUPE_EXPORT_WORKFLOW

#endif
