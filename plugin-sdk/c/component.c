/* A component: the contract's calls, by the canonical ABI. Compiled for
 * WebAssembly only. What the host passes and what it gets is in the memory of
 * the call, which is over when the host has read the result. */

#ifdef __wasm__

#include "abi.h"

#include <stdlib.h>
#include <string.h>

extern const EnvironmentPlugin troupe_environment __attribute__((weak));
extern const WorkflowPlugin troupe_workflow __attribute__((weak));

__attribute__((import_module("[export]troupe:plugin/environment@0.2.0"),
               import_name("[resource-new]episode"))) const void *
new_episode_resource(Episode *episode);
__attribute__((import_module("[export]troupe:plugin/workflow@0.2.0"),
               import_name("[resource-new]session"))) const void *
new_session_resource(Talk *talk);
__attribute__((import_module("troupe:plugin/log@0.2.0"), import_name("write"))) void
write_log(uint32_t level, const char *line, size_t size);

void log_line(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const char *line = text_of(format, arguments);
  va_end(arguments);
  write_log(1, line, strlen(line));
}

void troupe_call_over(void) {
  reported.any = false;
  call_over();
}

/* The host's strings have no zero behind them; here they get one. */
__attribute__((export_name("cabi_realloc"))) void *
cabi_realloc(void *old, size_t old_size, size_t alignment, size_t size) {
  (void)alignment; /* scratch is aligned for everything */
  char *larger = scratch(size);
  if (old_size) memcpy(larger, old, old_size < size ? old_size : size);
  return larger;
}

/* ---- From the host ---- */

static Seat seat_from(const AbiSeat *seat) {
  return (Seat){seat->role.start, seat->instance};
}

static Settings *settings_from(const void *given, size_t count) {
  const AbiConfigured *configured = given;
  Settings *settings = scratch(sizeof(Settings));
  Value *values = scratch(count * sizeof(Value));
  for (size_t i = 0; i < count; i++) {
    const AbiValue *value = &configured[i].value;
    values[i] = (Value){.name = configured[i].name.start, .type = value->type, .text = ""};
    switch (value->type) {
      case INTEGER: values[i].number = value->integer; break;
      case NUMBER: values[i].number = value->number; break;
      case FLAG: values[i].number = value->flag; break;
      default: values[i].text = value->text.start;
    }
  }
  *settings = (Settings){count, values};
  return settings;
}

static ActionKind *kinds_from(const void *given, size_t count) {
  const AbiPair *pairs = given;
  ActionKind *kinds = scratch((count + 1) * sizeof(ActionKind));
  for (size_t i = 0; i < count; i++)
    kinds[i] = (ActionKind){pairs[i].first.start, pairs[i].second.start};
  return kinds;
}

static const char *text_from(AbiList parts) {
  Words words = {0};
  add(&words, "%s", "");
  const AbiPart *part = parts.start;
  for (size_t i = 0; i < parts.count; i++) {
    AbiList said = part[i].is_image ? part[i].description : part[i].text;
    add(&words, "%s%s", i ? "\n" : "", (const char *)said.start);
  }
  return words.text;
}

static View *views_from(const void *given, size_t count) {
  const AbiView *seen = given;
  View *views = scratch((count + 1) * sizeof(View));
  for (size_t i = 0; i < count; i++) {
    const char *role = seen[i].seat.is_some ? seen[i].seat.seat.role.start : NULL;
    views[i] = (View){role, seen[i].seat.seat.instance, text_from(seen[i].parts)};
  }
  return views;
}

/* ---- To the host ---- */

static AbiList string(const char *text) {
  return text ? (AbiList){text, strlen(text)} : (AbiList){"", 0};
}

static AbiMaybeList maybe(const char *text) {
  return (AbiMaybeList){text != NULL, string(text)};
}

static AbiSeat seat_to(Seat seat) {
  return (AbiSeat){string(seat.role), seat.instance};
}

static AbiList words_to(const char *words) {
  AbiList *list = scratch((count_words(words) + 1) * sizeof(AbiList));
  size_t count = 0, length;
  for (; words && (words = next_word(words, &length)); words += length)
    list[count++] = (AbiList){words, length};
  return (AbiList){list, count};
}

static AbiValue value_to(const Setting *setting) {
  switch (setting->type) {
    case INTEGER: return (AbiValue){INTEGER, {.integer = (int32_t)setting->initial}};
    case NUMBER: return (AbiValue){NUMBER, {.number = setting->initial}};
    case FLAG: return (AbiValue){FLAG, {.flag = setting->initial != 0}};
    case TEXT: return (AbiValue){TEXT, {.text = string(setting->text)}};
    case CHOICE: break;
  }
  AbiList words = words_to(setting->text);
  return (AbiValue){TEXT, {.text = *(const AbiList *)words.start}};
}

static AbiList settings_to(const Setting *settings) {
  enum { D_INTEGER, D_NUMBER, D_FLAG, D_CHOICE, D_TEXT };
  static const uint8_t DOMAINS[] = {
      [INTEGER] = D_INTEGER, [NUMBER] = D_NUMBER, [FLAG] = D_FLAG,
      [TEXT] = D_TEXT,       [CHOICE] = D_CHOICE};
  size_t count = 0;
  while (settings && settings[count].name) count++;
  AbiSetting *list = scratch(count * sizeof(AbiSetting));
  for (size_t i = 0; i < count; i++) {
    const Setting *one = &settings[i];
    list[i] = (AbiSetting){.name = string(one->name), .summary = string(one->summary),
                           .domain = DOMAINS[one->type], .initial = value_to(one)};
    if (one->type == INTEGER) {
      list[i].integers[0] = (int32_t)one->low;
      list[i].integers[1] = (int32_t)one->high;
    } else if (one->type == NUMBER) {
      list[i].numbers[0] = one->low;
      list[i].numbers[1] = one->high;
    } else if (one->type == CHOICE)
      list[i].words = words_to(one->text);
  }
  return (AbiList){list, count};
}

/* Extras, of which there is room for `most`. */
typedef struct {
  AbiPair *list;
  size_t count;
} Extras;

static Extras extras_of(size_t most) {
  return (Extras){scratch(most * sizeof(AbiPair)), 0};
}

static void extra(Extras *extras, const char *key, const char *value) {
  extras->list[extras->count++] = (AbiPair){string(key), string(value)};
}

static AbiList extras_to(Extras extras) {
  return (AbiList){extras.list, extras.count};
}

static AbiList text_part(const char *text) {
  AbiPart *part = scratch(sizeof(AbiPart));
  part->text = string(text);
  return (AbiList){part, 1};
}

/* A result without a problem so far; `done` puts in the problem that was reported. */
static AbiResult *result(void) {
  return scratch(sizeof(AbiResult));
}

static const void *done(AbiResult *result) {
  if (!reported.any) return result;
  *result = (AbiResult){.is_problem = 1};
  result->problem = (AbiProblem){(uint8_t)reported.fault, string(reported.message)};
  return result;
}

static const void *say(const char *text) {
  AbiResult *said = result();
  said->list = string(text);
  return done(said);
}

static const void *say_bytes(Bytes bytes) {
  AbiResult *said = result();
  said->maybe = (AbiMaybeList){1, {bytes.bytes, bytes.size}};
  return done(said);
}

/* ---- Environments ---- */

static const Environment *environment(void) {
  return troupe_environment.table;
}

static AbiList environment_extras(const Environment *it) {
  size_t presets = 0;
  while (it->presets && it->presets[presets].name) presets++;
  Extras extras = extras_of(presets + 1);
  if (it->is_reusable) extra(&extras, "reusable", "");
  for (size_t i = 0; i < presets; i++) {
    const Preset *preset = &it->presets[i];
    const char *gap = preset->settings && *preset->settings ? "\n" : "";
    extra(&extras, "preset", text("%s\n%s%s%s", preset->name, preset->summary, gap,
                                  preset->settings ? preset->settings : ""));
  }
  return extras_to(extras);
}

const void *abi_describe(void) {
  const Environment *it = environment();
  size_t count = 0;
  while (it->actions[count].name) count++;
  AbiPair *kinds = scratch(count * sizeof(AbiPair));
  for (size_t i = 0; i < count; i++)
    kinds[i] = (AbiPair){string(it->actions[i].name), string(it->actions[i].summary)};
  AbiEnvironment *described = scratch(sizeof(AbiEnvironment));
  *described = (AbiEnvironment){
      string(it->name), string(it->version), string(it->summary), settings_to(it->settings),
      {kinds, count}, words_to(it->workflows ? it->workflows : "solo"),
      {it->memory_mib != 0, it->memory_mib, it->fuel != 0, it->fuel}, environment_extras(it)};
  return described;
}

static void check_table(const Environment *it) {
  const char *missing = !it->start ? "start" : !it->rules ? "rules" : !it->observe ? "observe" : NULL;
  if (!it->act) missing = "act";
  if (missing) problem(FAULT_INTERNAL, "the environment has no `.%s`", missing);
}

const void *abi_configure(const void *settings, size_t count) {
  Configuration configuration = {.max_turns = 10};
  const Settings *all = settings_from(settings, count);
  check_table(environment());
  check_settings(environment()->settings, all);
  if (environment()->configure && !reported.any) environment()->configure(all, &configuration);
  AbiResult *said = result();
  said->configuration.vocabulary = words_to(configuration.vocabulary);
  said->configuration.max_turns = configuration.max_turns;
  said->configuration.is_private = configuration.is_private;
  said->configuration.needs_records = configuration.needs_records;
  Extras extras = extras_of(2);
  if (configuration.takes_records) extra(&extras, "records", "optional");
  if (configuration.seats) extra(&extras, "seats", configuration.seats);
  said->configuration.extras = extras_to(extras);
  return done(said);
}

static const void *hand_out(Episode *episode) {
  AbiResult *said = result();
  if (reported.any) free(episode);
  else said->resource = new_episode_resource(episode);
  return done(said);
}

const void *abi_start(uint32_t split, uint32_t seed, const void *settings, size_t count,
                      const void *seats, size_t seat_count, const char *entry) {
  Seat *seated = scratch(seat_count * sizeof(Seat));
  for (size_t i = 0; i < seat_count; i++) seated[i] = seat_from((const AbiSeat *)seats + i);
  const Task task = {(Split)split, seed, settings_from(settings, count), seated, seat_count, entry};
  return hand_out(episode_start(&troupe_environment, &task));
}

const void *abi_resume(char *state, size_t size) {
  return hand_out(episode_resume(&troupe_environment, (Bytes){state, size}));
}

void abi_end(void *self) {
  free(self);
}

const void *abi_rules(void *self, const char *role, uint32_t instance) {
  return say(environment()->rules(state_of(self), &(Seat){role, instance}));
}

const void *abi_observe(void *self, const char *role, uint32_t instance) {
  AbiResult *said = result();
  said->list = text_part(environment()->observe(state_of(self), &(Seat){role, instance}));
  return done(said);
}

static AbiList awards_to(const Outcome *outcome) {
  AbiAward *list = scratch(outcome->award_count * sizeof(AbiAward));
  for (size_t i = 0; i < outcome->award_count; i++) {
    const Award *award = &outcome->awards[i];
    list[i] = (AbiAward){
        .to = (uint8_t)award->to, .name = string(award->name), .value = award->value};
    if (award->to == FOR_MOVER) list[i].mover = award->mover;
    if (award->to == FOR_SEAT) list[i].seat = seat_to(award->seat);
  }
  return (AbiList){list, outcome->award_count};
}

const void *abi_act(void *self, const void *given, size_t count) {
  const AbiMove *moves = given;
  Move *made = scratch(count * sizeof(Move));
  for (size_t i = 0; i < count; i++) {
    const AbiPair *action = &moves[i].action;
    made[i] = (Move){seat_from(&moves[i].seat), {action->first.start, action->second.start}};
  }
  const Outcome *outcome = episode_act(self, made, count);
  AbiEffect *effects = scratch(count * sizeof(AbiEffect));
  for (size_t i = 0; i < count; i++)
    effects[i] = (AbiEffect){outcome->effects[i].accepted, string(outcome->effects[i].feedback)};
  AbiResult *said = result();
  said->outcome.effects = (AbiList){effects, count};
  said->outcome.awards = awards_to(outcome);
  said->outcome.status = (uint8_t)outcome->status;
  return done(said);
}

const void *abi_demonstrate(void *self, const char *role, uint32_t instance) {
  const Action action = episode_demonstrate(self, &(Seat){role, instance});
  AbiResult *said = result();
  const char *kind = action.kind ? action.kind : environment()->actions->name;
  said->action.is_some = action.text != NULL;
  said->action.action = (AbiPair){string(kind), string(action.text)};
  return done(said);
}

const void *abi_reveal(void *self) {
  AbiResult *said = result();
  said->maybe = maybe(environment()->reveal ? environment()->reveal(state_of(self)) : NULL);
  return done(said);
}

const void *abi_save(void *self) {
  return say_bytes(episode_save(self));
}

const void *abi_render(char *state, size_t size) {
  Episode *episode = episode_resume(&troupe_environment, (Bytes){state, size});
  AbiResult *said = result();
  if (!reported.any) {
    const Drawing drawing = environment()->draw(state_of(episode));
    said->drawing.text = string(drawing.text);
    said->drawing.svg = string(drawing.svg);
  }
  free(episode);
  return done(said);
}

/* ---- Workflows ---- */

static const Workflow *workflow(void) {
  return troupe_workflow.table;
}

const void *abi_w_describe(void) {
  const Workflow *it = workflow();
  Extras extras = extras_of(1);
  if (it->is_reusable) extra(&extras, "reusable", "");
  AbiWorkflow *described = scratch(sizeof(AbiWorkflow));
  *described = (AbiWorkflow){
      .name = string(it->name), .version = string(it->version), .summary = string(it->summary),
      .settings = settings_to(all_settings(it)), .actions = words_to(it->actions),
      .extras = extras_to(extras)};
  return described;
}

/* The words, each once. */
static AbiList unique_words(const char *words) {
  AbiList all = words_to(words), *list = (AbiList *)all.start;
  size_t count = 0;
  for (size_t i = 0; i < all.count; i++) {
    size_t known = 0;
    while (known < count && (list[known].count != list[i].count ||
                             memcmp(list[known].start, list[i].start, list[i].count)))
      known++;
    if (known == count) list[count++] = list[i];
  }
  return (AbiList){list, count};
}

const void *abi_w_configure(const void *settings, size_t count, const void *kinds,
                            size_t kind_count) {
  Words words = {0};
  workflow_configure(workflow(), settings_from(settings, count), kinds_from(kinds, kind_count),
                     &words);
  size_t roles = 0;
  while (workflow()->roles[roles].name) roles++;
  AbiRole *list = scratch(roles * sizeof(AbiRole));
  for (size_t i = 0; i < roles; i++) {
    const Role *role = &workflow()->roles[i];
    list[i] = (AbiRole){string(role->name), string(role->summary), role->seats ? role->seats : 1};
  }
  AbiResult *said = result();
  said->roles.roles = (AbiList){list, roles};
  said->roles.vocabulary = unique_words(words.text);
  return done(said);
}

static const char *rules_for(const char *role, const void *of) {
  const AbiList *given = of;
  const AbiRules *rules = given->start;
  for (size_t i = 0; i < given->count; i++) {
    const AbiMaybeSeat *seat = &rules[i].seat;
    bool mine = seat->is_some && !strcmp(seat->seat.role.start, role) && !seat->seat.instance;
    if (!seat->is_some || mine) return rules[i].text.start;
  }
  return "";
}

static const void *hand_out_talk(Talk *talk) {
  AbiResult *said = result();
  if (reported.any) talk_end(talk);
  else said->resource = new_session_resource(talk);
  return done(said);
}

const void *abi_w_start(const char *environment, const void *rules, size_t rule_count,
                        const void *kinds, size_t kind_count, const void *settings,
                        size_t count, uint32_t turns, const char *revealed) {
  const Briefing briefing = {environment, kinds_from(kinds, kind_count),
                             settings_from(settings, count), turns, revealed};
  const AbiList told = {rules, rule_count};
  return hand_out_talk(talk_start(&troupe_workflow, &briefing, rules_for, &told));
}

const void *abi_w_resume(char *state, size_t size) {
  return hand_out_talk(talk_resume(&troupe_workflow, (Bytes){state, size}));
}

const void *abi_w_save(void *self) {
  return say_bytes(talk_save(self));
}

void abi_w_end(void *self) {
  talk_end(self);
}

const void *abi_w_demonstrate(void *self, const char *role, uint32_t instance, const char *kind,
                              const char *text) {
  AbiResult *said = result();
  said->maybe = maybe(talk_demonstrate(self, &(Seat){role, instance}, &(Action){kind, text}));
  return done(said);
}

static AbiList messages_to(const Request *request) {
  AbiMessage *messages = scratch(2 * sizeof(AbiMessage));
  messages[0] = (AbiMessage){0, text_part(request->system)};
  messages[1] = (AbiMessage){1, text_part(request->told)};
  return (AbiList){messages, 2};
}

static AbiList entries_to(const Step *step) {
  if (step->todo == ASK) {
    AbiRequest *requests = scratch(step->request_count * sizeof(AbiRequest));
    for (size_t i = 0; i < step->request_count; i++) {
      const Request *request = &step->requests[i];
      requests[i] = (AbiRequest){.seat = seat_to(request->seat), .messages = messages_to(request),
                                 .is_open = request->is_open};
    }
    return (AbiList){requests, step->request_count};
  }
  AbiMove *moves = scratch(step->move_count * sizeof(AbiMove));
  for (size_t i = 0; i < step->move_count; i++) {
    const Move *move = &step->moves[i];
    moves[i] = (AbiMove){seat_to(move->seat),
                         {string(move->action.kind), string(move->action.text)}};
  }
  return (AbiList){moves, step->move_count};
}

static const void *step_to(const Step *step) {
  static const uint8_t DIRECTIVES[] = {[ASK] = 0, [ACT] = 1, [WAIT] = 3, [FINISH] = 4};
  if (step->todo == NOTHING) problem(FAULT_ORDER, "nothing is to be done about this event");
  AbiCredit *credits = scratch(step->credit_count * sizeof(AbiCredit));
  for (size_t i = 0; i < step->credit_count; i++) {
    const Credit *credit = &step->credits[i];
    credits[i] = (AbiCredit){credit->answer, string(credit->name), credit->value, 1};
  }
  AbiResult *said = result();
  said->step.credits = (AbiList){credits, step->credit_count};
  said->step.directive = DIRECTIVES[step->todo];
  said->step.entries = entries_to(step);
  return done(said);
}

static Reply reply_from(const uint32_t *p) {
  const char *whole = (const char *)p[6];
  return (Reply){.seat = {(const char *)p[0], p[2]}, .answer = p[3], .said = answer_of(whole, p[8]),
                 .whole = whole, .thread = (const char *)p[4], .complete = p[8]};
}

static Consequence consequence_from(const uint32_t *p) {
  const AbiMoveResult *given = (const void *)p[0];
  MoveResult *results = scratch(p[1] * sizeof(MoveResult));
  for (size_t i = 0; i < p[1]; i++)
    results[i] = (MoveResult){seat_from(&given[i].seat), given[i].accepted, given[i].feedback.start};
  const char *revealed = p[4] ? (const char *)p[5] : NULL;
  return (Consequence){results, p[1], views_from((const void *)p[2], p[3]), revealed, (Status)p[7]};
}

const void *abi_advance(void *self, uint32_t event, const uint32_t *p) {
  enum { BEGUN, REPLIED, ACTED };
  Session *session = session_of(self);
  Step *step = new_step(self);
  if (event == BEGUN) {
    workflow()->begun(session, views_from((const void *)p[0], p[1]), step);
  } else if (event == REPLIED) {
    const Reply reply = reply_from(p);
    workflow()->replied(session, &reply, step);
  } else if (event == ACTED) {
    const Consequence consequence = consequence_from(p);
    workflow()->acted(session, &consequence, step);
  } else
    problem(FAULT_ORDER, "no tool was called");
  return step_to(step);
}

#endif
