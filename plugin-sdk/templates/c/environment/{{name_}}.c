/* {{Name}}: find a number from 1 to 100 within eight guesses. */

#include "sdk/troupe.h"

#include <string.h>

enum { TURNS = 8 };

/* All that an episode remembers. It is saved as its bytes. */
struct State {
  int secret, above, below, guesses;
};

static void configure(const Settings *settings, Configuration *configuration) {
  Words words = {0};
  add(&words, "above below");
  for (int number = 0; number <= 101; number++) add(&words, " %d", number);
  configuration->vocabulary = words.text;
  configuration->max_turns = TURNS;
}

static void start(State *state, const Task *task) {
  Random random = random_for(task->split, task->seed, "secret");
  /* Drawn until it belongs to the task's split: no secret is in two. */
  do
    state->secret = random_between(&random, 1, 100);
  while (owning_split(&state->secret, sizeof state->secret) != task->split);
  state->below = 101;
}

static const char *rules(const State *state, const Seat *seat) {
  return text("Find the secret number within %d guesses. You are told above and "
              "below which numbers it lies.", TURNS);
}

static const char *observe(const State *state, const Seat *seat) {
  return text("above %d below %d", state->above, state->below);
}

/* A number from 1 to 100, and nothing else. */
static const char *read_guess(const char *passage, void *into) {
  int number = 0;
  size_t digits = strspn(passage, "0123456789");
  for (size_t i = 0; i < digits && i < 3; i++) number = 10 * number + passage[i] - '0';
  bool fits = digits && digits < 4 && !passage[digits] && number >= 1 && number <= 100;
  *(int *)into = number;
  return fits ? NULL : "This is not a number from 1 to 100.";
}

static void act(State *state, const Seat *seat, const Action *action, Outcome *outcome) {
  int number, before = state->below - state->above;
  state->guesses++;
  const char *fault = read_last(action->text, read_guess, &number);
  if (fault) {
    reject(outcome, fault);
    award_mover(outcome, "unreadable", -0.1);
  } else if (number == state->secret) {
    award_team(outcome, "found", 1);
    outcome->status = SOLVED;
    return;
  } else if (number < state->secret && number > state->above) state->above = number;
  else if (number > state->secret && number < state->below) state->below = number;
  /* What is left shrinks and never grows, so this cannot be earned twice. */
  award_team(outcome, "narrowed", 0.5 * (before - state->below + state->above) / 100);
  if (state->guesses == TURNS) outcome->status = FAILED;
}

/* The expert halves what is left; it must not peek at the secret. */
static Action demonstrate(const State *state, const Seat *seat) {
  return (Action){"guess", text("%d", (state->above + state->below) / 2)};
}

static const ActionKind ACTIONS[] = {{"guess", "one whole number, such as `7`"}, {0}};

static const Environment environment = {
    .name = "{{name}}", .version = "0.1.0",
    .summary = "Find a number from 1 to 100.",
    .actions = ACTIONS,
    .is_reusable = true, /* nothing is kept outside of the state */
    .configure = configure, .start = start, .rules = rules,
    .observe = observe, .act = act, .demonstrate = demonstrate,
};

TROUPE_ENVIRONMENT(environment)
