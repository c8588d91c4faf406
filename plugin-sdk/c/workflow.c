/* Workflows: the texts of roles, and what a session keeps. */

#include "plugin.h"

#include <stdlib.h>
#include <string.h>

/* ---- Settings that every workflow has ---- */

static char *setting_name(const char *role, const char *what) {
  char *name = text("%s_%s", role, what);
  for (char *at = name; *at; at++)
    if (*at == '-') *at = '_';
  return name;
}

/* The field that begins here, such as `{name}`; its length with the braces, or 0. */
static size_t field_at(const char *at) {
  if (*at != '{') return 0;
  size_t length = strspn(at + 1, "abcdefghijklmnopqrstuvwxyz_");
  return length && at[length + 1] == '}' ? length + 2 : 0;
}

static const char *fields_in(const char *message) {
  Words words = {0};
  add(&words, "%s", "");
  for (; *message; message++) {
    int length = (int)field_at(message);
    if (length) add(&words, "%s%.*s", words.length ? " " : "", length, message);
  }
  return words.text;
}

const Setting *all_settings(const Workflow *workflow) {
  size_t own = 0, roles = 0, count = 0;
  while (workflow->settings && workflow->settings[own].name) own++;
  while (workflow->roles[roles].name) roles++;
  Setting *all = scratch((own + 2 * roles + 2) * sizeof(Setting));
  for (; count < own; count++) all[count] = workflow->settings[count];
  if (!workflow->actions)
    all[count++] = (Setting)TEXT_SETTING(
        "kind", "Kind of action to send; empty for the first that the environment has.", "");
  for (const Role *role = workflow->roles; role->name; role++) {
    const char *fields = fields_in(role->message);
    all[count++] = (Setting)TEXT_SETTING(setting_name(role->name, "task"),
                                         text("The %s's task.", role->name), role->task);
    all[count++] = (Setting)TEXT_SETTING(
        setting_name(role->name, "message"),
        text("What the %s is told, with %s.", role->name, fields), role->message);
  }
  return all;
}

static const ActionKind *find_kind(const ActionKind *kinds, const char *name) {
  Words known = {0};
  for (const ActionKind *kind = kinds; kind->name; kind++) {
    if (!strcmp(kind->name, name)) return kind;
    add(&known, "%s`%s`", known.length ? ", " : "", kind->name);
  }
  problem(FAULT_SETTINGS, "the environment understands no action `%s`, only %s", name,
          known.text ? known.text : "none");
  return kinds;
}

/* The kind that roles act with: the workflow's first, the user's, or the
 * environment's first. */
static const ActionKind *acting_kind(const Workflow *workflow, const Settings *settings,
                                     const ActionKind *kinds) {
  const ActionKind *first = NULL;
  size_t length;
  for (const char *at = workflow->actions; at && (at = next_word(at, &length)); at += length) {
    const ActionKind *kind = find_kind(kinds, copy_text(at, length));
    if (!first) first = kind;
  }
  if (first) return first;
  const char *chosen = setting_text(settings, "kind");
  if (*chosen) return find_kind(kinds, chosen);
  if (!kinds->name) problem(FAULT_SETTINGS, "the environment understands no action");
  return kinds;
}

/* A message with a field that nobody fills in would be told as it is written. */
static void check_fields(const char *setting, const char *message, const char *known) {
  for (const char *at = message; *at; at++) {
    size_t length = field_at(at);
    if (length && !strstr(known, copy_text(at, length)))
      problem(FAULT_SETTINGS, "`%s` has the field `%.*s`, but may only have %s", setting,
              (int)length, at, known);
  }
}

void workflow_configure(const Workflow *workflow, const Settings *settings,
                        const ActionKind *kinds, Words *vocabulary) {
  add(vocabulary, "%s", "");
  check_settings(all_settings(workflow), settings);
  if (reported.any) return;
  acting_kind(workflow, settings, kinds);
  for (const Role *role = workflow->roles; role->name; role++) {
    const char *setting = setting_name(role->name, "message");
    const char *message = setting_text(settings, setting);
    check_fields(setting, message, fields_in(role->message));
    for (const char *at = message; *at;) {
      size_t length = field_at(at);
      if (length) add(vocabulary, " ");
      else add(vocabulary, "%c", *at);
      at += length ? length : 1;
    }
    add(vocabulary, " ");
  }
}

/* ---- What a session keeps ---- */

static Note *note_of(Talk *talk, const char *name) {
  for (Note *note = talk->notes; note; note = note->next)
    if (!strcmp(note->name, name)) return note;
  return NULL;
}

static char *owned(const char *text) {
  char *copy = malloc(strlen(text) + 1);
  if (!copy) abort();
  return strcpy(copy, text);
}

static void note(Talk *talk, const char *name, const char *text) {
  Note *known = note_of(talk, name);
  if (!known) {
    /* Behind the others, so that what is saved follows from what was kept. */
    Note **end = &talk->notes;
    while (*end) end = &(*end)->next;
    *end = known = calloc(1, sizeof(Note));
    if (!known) abort();
    known->name = owned(name);
  }
  char *copy = owned(text);
  free(known->text);
  known->text = copy;
}

static const char *noted(Talk *talk, const char *name) {
  Note *known = note_of(talk, name);
  return known ? known->text : "";
}

Session *session_of(Talk *talk) {
  return (Session *)talk->state;
}

static Talk *talk_of(const Session *session) {
  return (Talk *)((char *)session - offsetof(Talk, state));
}

void keep(Session *session, const char *name, const char *kept_text) {
  note(talk_of(session), text("own %s", name), kept_text);
}

const char *kept(const Session *session, const char *name) {
  return noted(talk_of(session), text("own %s", name));
}

/* ---- Sessions ---- */

static Talk *new_talk(const WorkflowPlugin *plugin) {
  Talk *talk = calloc(1, sizeof(Talk) + plugin->size);
  if (!talk) abort();
  talk->plugin = plugin;
  return talk;
}

void talk_end(Talk *talk) {
  while (talk->notes) {
    Note *next = talk->notes->next;
    free(talk->notes->name);
    free(talk->notes->text);
    free(talk->notes);
    talk->notes = next;
  }
  free(talk);
}

Talk *talk_start(const WorkflowPlugin *plugin, const Briefing *briefing,
                 const char *(*rules_for)(const char *role, const void *of), const void *of) {
  Talk *talk = new_talk(plugin);
  const Settings *settings = briefing->settings;
  const ActionKind *kind = acting_kind(plugin->table, settings, briefing->actions);
  if (reported.any) return talk;
  note(talk, "kind", kind->name);
  for (const Role *role = plugin->table->roles; role->name; role++) {
    const char *task = setting_text(settings, setting_name(role->name, "task"));
    const char *end = role->acts ? text("%sYou may think first. End your answer with %s, and "
                                        "nothing after it.", *task ? " " : "", kind->summary) : "";
    const char *rules = rules_for(role->name, of);
    note(talk, text("system %s", role->name), text("%s\n\n%s%s", rules, task, end));
    const char *message = setting_text(settings, setting_name(role->name, "message"));
    note(talk, text("message %s", role->name), message);
  }
  if (plugin->table->start) plugin->table->start(session_of(talk), briefing);
  return talk;
}

const char *talk_demonstrate(Talk *talk, const Seat *seat, const Action *expert) {
  const Workflow *table = talk->plugin->table;
  return table->demonstrate ? table->demonstrate(session_of(talk), seat, expert) : expert->text;
}

/* The session's bytes, then names and texts, each ended by a zero. */
Bytes talk_save(Talk *talk) {
  size_t size = talk->plugin->size, all = size;
  for (Note *note = talk->notes; note; note = note->next)
    all += strlen(note->name) + strlen(note->text) + 2;
  Bytes saved = {scratch(all), all};
  memcpy(saved.bytes, talk->state, size);
  char *at = saved.bytes + size;
  for (Note *note = talk->notes; note; note = note->next) {
    at = strcpy(at, note->name) + strlen(note->name) + 1;
    at = strcpy(at, note->text) + strlen(note->text) + 1;
  }
  return saved;
}

Talk *talk_resume(const WorkflowPlugin *plugin, Bytes saved) {
  Talk *talk = new_talk(plugin);
  size_t at = plugin->size, ends = 0;
  for (size_t i = at; i < saved.size; i++) ends += saved.bytes[i] == 0;
  bool whole = saved.size == at || (saved.size > at && saved.bytes[saved.size - 1] == 0);
  if (!whole || ends % 2) {
    problem(FAULT_STATE, "these %zu bytes are not a saved session", saved.size);
    return talk;
  }
  memcpy(talk->state, saved.bytes, at);
  while (at < saved.size) {
    const char *name = saved.bytes + at, *text = name + strlen(name) + 1;
    note(talk, name, text);
    at = (size_t)(text + strlen(text) + 1 - saved.bytes);
  }
  return talk;
}

/* ---- Steps ---- */

Step *new_step(Talk *talk) {
  Step *step = scratch(sizeof(Step));
  step->talk = talk;
  return step;
}

static void request(Step *step, Seat seat, const Field *fields, bool is_open) {
  const char *message = noted(step->talk, text("message %s", seat.role));
  Words told = {0};
  add(&told, "%s", "");
  for (const char *at = message; *at;) {
    size_t length = field_at(at);
    if (!length) {
      add(&told, "%c", *at++);
      continue;
    }
    for (const Field *field = fields; field->field; field++)
      if (strlen(field->field) == length - 2 && !strncmp(field->field, at + 1, length - 2))
        add(&told, "%s", field->value);
    at += length;
  }
  told.text[length_without_end(told.text, told.length)] = 0;
  const char *system = noted(step->talk, text("system %s", seat.role));
  step->todo = ASK;
  if (step->request_count == MOST_AT_ONCE) problem(FAULT_INTERNAL, "too many requests at once");
  else step->requests[step->request_count++] = (Request){seat, system, told.text, is_open};
}

void ask(Step *step, Seat seat, const Field *fields) {
  request(step, seat, fields, false);
}

void ask_open(Step *step, Seat seat, const Field *fields) {
  request(step, seat, fields, true);
}

void let_act(Step *step, Seat seat, const char *text) {
  let_act_by(step, seat, noted(step->talk, "kind"), text);
}

void let_act_by(Step *step, Seat seat, const char *kind, const char *text) {
  step->todo = ACT;
  if (step->move_count == MOST_AT_ONCE) problem(FAULT_INTERNAL, "too many moves at once");
  else step->moves[step->move_count++] = (Move){seat, {kind, text}};
}

void wait_for_more(Step *step) {
  step->todo = WAIT;
}

void finish(Step *step) {
  step->todo = FINISH;
}

void credit(Step *step, uint32_t answer, const char *name, double value) {
  if (step->credit_count == MOST_CREDITS) problem(FAULT_INTERNAL, "too many credits at once");
  else step->credits[step->credit_count++] = (Credit){answer, name, value};
}

const char *seen_by(const View *views, Seat seat) {
  for (; views->text; views++)
    if (!views->role || (!strcmp(views->role, seat.role) && views->instance == seat.instance))
      return views->text;
  return "";
}
