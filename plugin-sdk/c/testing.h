/* A stand-in for the host: plays an environment or a workflow natively.
 *
 *   cc guess.c guess_test.c sdk/[a-z]*.c -o guess_test && ./guess_test
 */

#ifndef TROUPE_TESTING_H
#define TROUPE_TESTING_H

#include "plugin.h"

extern const EnvironmentPlugin troupe_environment;
extern const WorkflowPlugin troupe_workflow;

/* Ends the test with file and line unless this is true. */
#define EXPECT(condition) expect(condition, #condition, __FILE__, __LINE__)
void expect(bool holds, const char *condition, const char *file, int line);
/* The same for texts. */
#define EXPECT_TEXT(found, wanted) expect_text(found, wanted, __FILE__, __LINE__)
void expect_text(const char *found, const char *wanted, const char *file, int line);

/* Begins a task with one seat, `player`; settings such as "size=9 sight=split"
 * replace defaults. */
Episode *begin(Split split, uint32_t seed, const char *settings);
/* What the player sees, is told as rules, and would be shown by the expert. */
const char *seen(Episode *episode);
const char *told_rules(Episode *episode);
Action expert(Episode *episode);
/* Does this; a kind of NULL is the first one. */
const Outcome *does(Episode *episode, const char *kind, const char *action);

/* Plays the expert in some tasks of every split: it has to solve them in the
 * advised turns, and saved episodes have to go on alike. */
void check_environment(uint32_t tasks, const char *settings);

/* Begins a session beside an environment that has this rule and this kind. */
Talk *begin_talk(const char *rules, const char *kind, const char *settings);
/* Tells it that the episode begins, that a seat said something, or what its
 * moves led to; all see the same. A session is saved and resumed before each. */
const Step *hears_begun(Talk **talk, const char *observation);
const Step *hears_reply(Talk **talk, const char *role, const char *said);
const Step *hears_outcome(Talk **talk, const char *observation, Status status);

#endif
