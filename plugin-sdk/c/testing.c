/* See testing.h. None of it is in a component. */

#ifndef __wasm__

#include "testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A plugin brings one of them; the other is nothing. */
__attribute__((weak)) const EnvironmentPlugin troupe_environment;
__attribute__((weak)) const WorkflowPlugin troupe_workflow;

void log_line(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vfprintf(stderr, format, arguments);
  va_end(arguments);
  fputc('\n', stderr);
}

static void stop(const char *file, int line, const char *why) {
  fprintf(stderr, "%s:%d: %s\n", file, line, why);
  exit(1);
}

void expect(bool holds, const char *condition, const char *file, int line) {
  if (!holds) stop(file, line, text("expected %s", condition));
}

void expect_text(const char *found, const char *wanted, const char *file, int line) {
  if (strcmp(found, wanted)) stop(file, line, text("`%s` instead of `%s`", found, wanted));
}

/* A test that meets a problem has failed. */
static void no_problem(void) {
  if (reported.any) stop("problem", reported.fault, reported.message);
}

/* ---- Settings ---- */

static Value initial_of(const Setting *setting) {
  Value value = {setting->name, setting->type, setting->initial, setting->text};
  if (setting->type == CHOICE) {
    size_t length;
    const char *first = next_word(setting->text, &length);
    value.type = TEXT;
    value.text = first ? copy_text(first, length) : "";
  }
  return value;
}

/* A word that was chosen, as a value of this type; a text if it is none. */
static Value chosen_as(const char *name, Type type, const char *word) {
  char *end;
  double number = strtod(word, &end);
  bool is_number = *word && !*end && (type == NUMBER || number == (int32_t)number);
  if ((type == INTEGER || type == NUMBER) && is_number) return (Value){name, type, number, ""};
  bool is_true = !strcmp(word, "true");
  if (type == FLAG && (is_true || !strcmp(word, "false"))) return (Value){name, FLAG, is_true, ""};
  return (Value){name, TEXT, 0, word};
}

/* The defaults, with what is chosen in "a=1 b=2" in their place. */
static Settings *settings_from(const Setting *declared, const char *chosen) {
  size_t count = 0, length;
  while (declared && declared[count].name) count++;
  Value *values = scratch((count + count_words(chosen)) * sizeof(Value));
  for (size_t i = 0; i < count; i++) values[i] = initial_of(&declared[i]);
  for (size_t i; chosen && (chosen = next_word(chosen, &length)); chosen += length) {
    size_t name_length = 0;
    while (name_length < length && chosen[name_length] != '=') name_length++;
    const char *name = copy_text(chosen, name_length);
    for (i = 0; i < count && strcmp(values[i].name, name);) i++;
    size_t start = name_length < length ? name_length + 1 : length;
    const char *word = copy_text(chosen + start, length - start);
    if (i == count) count++;
    values[i] = chosen_as(name, values[i].name ? values[i].type : TEXT, word);
  }
  Settings *settings = scratch(sizeof(Settings));
  *settings = (Settings){count, values};
  return settings;
}

/* ---- Environments ---- */

static const Seat PLAYER = {"player", 0};

static Configuration configured(const char *settings) {
  const Environment *table = troupe_environment.table;
  Configuration configuration = {.max_turns = 10};
  const Settings *all = settings_from(table->settings, settings);
  check_settings(table->settings, all);
  no_problem();
  if (table->configure) table->configure(all, &configuration);
  no_problem();
  return configuration;
}

Episode *begin(Split split, uint32_t seed, const char *settings) {
  configured(settings);
  const Settings *all = settings_from(troupe_environment.table->settings, settings);
  const Task task = {split, seed, all, &PLAYER, 1, NULL};
  Episode *episode = episode_start(&troupe_environment, &task);
  no_problem();
  return episode;
}

const char *seen(Episode *episode) {
  const char *observation = troupe_environment.table->observe(state_of(episode), &PLAYER);
  no_problem();
  return observation;
}

const char *told_rules(Episode *episode) {
  return troupe_environment.table->rules(state_of(episode), &PLAYER);
}

Action expert(Episode *episode) {
  Action action = episode_demonstrate(episode, &PLAYER);
  if (action.text && !action.kind) action.kind = troupe_environment.table->actions->name;
  no_problem();
  return action;
}

const Outcome *does(Episode *episode, const char *kind, const char *action) {
  if (!kind) kind = troupe_environment.table->actions->name;
  const Move move = {PLAYER, {kind, action}};
  const Outcome *outcome = episode_act(episode, &move, 1);
  no_problem();
  return outcome;
}

/* Whether a saved episode does the same as this one. */
static const Outcome *does_alike(Episode *episode, Action action) {
  Episode *copy = episode_resume(&troupe_environment, episode_save(episode));
  const Outcome *outcome = does(episode, action.kind, action.text);
  const Outcome *other = does(copy, action.kind, action.text);
  EXPECT(outcome->status == other->status && outcome->award_count == other->award_count);
  for (size_t i = 0; i < outcome->award_count; i++)
    EXPECT(outcome->awards[i].value == other->awards[i].value);
  EXPECT_TEXT(seen(copy), seen(episode));
  free(copy);
  return outcome;
}

void check_environment(uint32_t tasks, const char *settings) {
  for (Split split = TRAIN; split <= TEST; split++)
    for (uint32_t seed = 0; seed < tasks; seed++) {
      uint32_t turns = configured(settings).max_turns, turn = 0;
      Episode *episode = begin(split, seed, settings);
      Status status = ONGOING;
      for (Action action; status == ONGOING && (action = expert(episode)).text; turn++)
        status = does_alike(episode, action)->status;
      if (turn) EXPECT(status == SOLVED && turn <= turns);
      free(episode);
      call_over();
    }
}

/* ---- Workflows ---- */

static const char *same_rules(const char *role, const void *of) {
  (void)role;
  return of;
}

Talk *begin_talk(const char *rules, const char *kind, const char *settings) {
  const Workflow *table = troupe_workflow.table;
  const Settings *all = settings_from(all_settings(table), settings);
  const ActionKind kinds[] = {{kind, "a word"}, {0}};
  Words words = {0};
  workflow_configure(table, all, kinds, &words);
  no_problem();
  const Briefing briefing = {"test", kinds, all, 10, NULL};
  Talk *talk = talk_start(&troupe_workflow, &briefing, same_rules, rules);
  no_problem();
  return talk;
}

static Step *next_step(Talk **talk) {
  Talk *resumed = talk_resume(&troupe_workflow, talk_save(*talk));
  talk_end(*talk);
  *talk = resumed;
  return new_step(resumed);
}

const Step *hears_begun(Talk **talk, const char *observation) {
  Step *step = next_step(talk);
  const View views[] = {{NULL, 0, observation}, {0}};
  troupe_workflow.table->begun(session_of(*talk), views, step);
  no_problem();
  return step;
}

const Step *hears_reply(Talk **talk, const char *role, const char *said) {
  Step *step = next_step(talk);
  const Reply reply = {{role, 0}, 0, answer_of(said, true), said, "", true};
  troupe_workflow.table->replied(session_of(*talk), &reply, step);
  no_problem();
  return step;
}

const Step *hears_outcome(Talk **talk, const char *observation, Status status) {
  Step *step = next_step(talk);
  const View views[] = {{NULL, 0, observation}, {0}};
  const Consequence consequence = {NULL, 0, views, NULL, status};
  troupe_workflow.table->acted(session_of(*talk), &consequence, step);
  no_problem();
  return step;
}

#endif
