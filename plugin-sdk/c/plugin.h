/* What the parts of the SDK know of each other; authors need none of it. */

#ifndef TROUPE_PLUGIN_H
#define TROUPE_PLUGIN_H

#include "troupe.h"

#include <stdarg.h>

typedef struct {
  char *bytes;
  size_t size;
} Bytes;

/* What was said by `problem` in this call. */
typedef struct {
  bool any;
  Fault fault;
  const char *message;
} Reported;
extern Reported reported;

/* Ends the life of everything from `scratch`. */
void call_over(void);
char *text_of(const char *format, va_list arguments);
char *copy_text(const char *text, size_t length);

/* The first of words that are separated by white space, or NULL. */
const char *next_word(const char *words, size_t *length);
size_t count_words(const char *words);
/* Without the white space at the end. */
size_t length_without_end(const char *text, size_t length);
uint64_t hash(const void *bytes, size_t size);

typedef struct {
  const char *name;
  Type type; /* a choice is a TEXT */
  double number;
  const char *text;
} Value;

struct Settings {
  size_t count;
  const Value *values;
};

/* Refuses a value that is outside of its domain, or of no setting. */
void check_settings(const Setting *declared, const Settings *given);

typedef struct {
  const EnvironmentPlugin *plugin;
  bool is_over;
  max_align_t state[];
} Episode;

Episode *episode_start(const EnvironmentPlugin *plugin, const Task *task);
State *state_of(Episode *episode);
Outcome *episode_act(Episode *episode, const Move *moves, size_t count);
Action episode_demonstrate(Episode *episode, const Seat *seat);
Bytes episode_save(Episode *episode);
Episode *episode_resume(const EnvironmentPlugin *plugin, Bytes saved);

/* ---- Workflows ---- */

/* A text that is kept with a session. */
typedef struct Note {
  struct Note *next;
  char *name, *text;
} Note;

typedef struct {
  const WorkflowPlugin *plugin;
  Note *notes;
  max_align_t state[];
} Talk;

typedef struct {
  Seat seat;
  const char *system, *told;
  bool is_open;
} Request;

typedef struct {
  uint32_t answer;
  const char *name;
  double value;
} Credit;

enum { MOST_AT_ONCE = 64, MOST_CREDITS = 64 };

struct Step {
  Talk *talk;
  enum { NOTHING, ASK, ACT, WAIT, FINISH } todo;
  size_t request_count, move_count, credit_count;
  Request requests[MOST_AT_ONCE];
  Move moves[MOST_AT_ONCE];
  Credit credits[MOST_CREDITS];
};

/* All settings: the author's, `kind`, and the texts of the roles. */
const Setting *all_settings(const Workflow *workflow);
/* Checks settings and kinds, and gathers the words of the roles' messages. */
void workflow_configure(const Workflow *workflow, const Settings *settings,
                        const ActionKind *kinds, Words *vocabulary);
/* `rules_for` gives the rules that a role is told. */
Talk *talk_start(const WorkflowPlugin *plugin, const Briefing *briefing,
                 const char *(*rules_for)(const char *role, const void *of), const void *of);
Session *session_of(Talk *talk);
Step *new_step(Talk *talk);
const char *talk_demonstrate(Talk *talk, const Seat *seat, const Action *expert);
Bytes talk_save(Talk *talk);
Talk *talk_resume(const WorkflowPlugin *plugin, Bytes saved);
void talk_end(Talk *talk);

#endif
