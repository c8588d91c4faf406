/* What is the same natively and in a component: texts, chance, settings,
 * outcomes, and what of a state is saved. */

#include "plugin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Memory of a call ---- */

typedef struct Block {
  struct Block *next;
  size_t room, used;
  max_align_t bytes[];
} Block;

enum { BLOCK = 16 << 10 };

static Block *blocks;

static Block *new_block(size_t room) {
  Block *block = calloc(1, sizeof(Block) + room);
  if (!block) abort();
  block->room = room;
  block->next = blocks;
  return blocks = block;
}

void *scratch(size_t size) {
  size_t alignment = _Alignof(max_align_t);
  /* And a byte more, so that every text ends with a zero. */
  size = (size + alignment) / alignment * alignment;
  Block *block = blocks;
  if (!block || block->room - block->used < size) block = new_block(size > BLOCK ? size : BLOCK);
  void *found = (char *)block->bytes + block->used;
  block->used += size;
  return found;
}

void call_over(void) {
  while (blocks && (blocks->next || blocks->room > BLOCK)) {
    Block *next = blocks->next;
    free(blocks);
    blocks = next;
  }
  if (!blocks) return;
  /* One is kept for the next call, which finds it all zero. */
  memset(blocks->bytes, 0, blocks->used);
  blocks->used = 0;
}

/* ---- Texts ---- */

char *text_of(const char *format, va_list arguments) {
  va_list again;
  va_copy(again, arguments);
  int length = vsnprintf(NULL, 0, format, again);
  va_end(again);
  char *made = scratch(length < 0 ? 0 : (size_t)length);
  if (length > 0) vsnprintf(made, (size_t)length + 1, format, arguments);
  return made;
}

char *text(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  char *made = text_of(format, arguments);
  va_end(arguments);
  return made;
}

static void append(Words *words, const char *more, size_t length) {
  if (!words->text || words->length + length > words->room) {
    words->room = 2 * (words->length + length) + 64;
    char *larger = scratch(words->room);
    if (words->length) memcpy(larger, words->text, words->length);
    words->text = larger;
  }
  memcpy(words->text + words->length, more, length);
  words->length += length;
}

void add(Words *words, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  char *more = text_of(format, arguments);
  va_end(arguments);
  append(words, more, strlen(more));
}

char *copy_text(const char *text, size_t length) {
  char *copied = scratch(length);
  memcpy(copied, text, length);
  return copied;
}

size_t count_words(const char *words) {
  size_t count = 0, length;
  while (words && (words = next_word(words, &length))) count++, words += length;
  return count;
}

const char *next_word(const char *words, size_t *length) {
  for (size_t space; (space = white_space_at(words));) words += space;
  for (*length = 0; words[*length] && !white_space_at(words + *length);) ++*length;
  return *length ? words : NULL;
}

/* ---- Problems ---- */

Reported reported;

void problem(Fault fault, const char *format, ...) {
  if (reported.any) return; /* the first one is the cause of the others */
  va_list arguments;
  va_start(arguments, format);
  reported = (Reported){true, fault, text_of(format, arguments)};
  va_end(arguments);
}

/* ---- Settings ---- */

static const Value *value_of(const Settings *settings, const char *name, Type type) {
  static const Value nothing = {.text = ""};
  for (size_t i = 0; i < settings->count; i++) {
    const Value *value = &settings->values[i];
    if (strcmp(value->name, name)) continue;
    if (value->type == type) return value;
    problem(FAULT_SETTINGS, "the setting `%s` is read as another type than it has", name);
    return &nothing;
  }
  problem(FAULT_SETTINGS, "setting `%s` is not declared", name);
  return &nothing;
}

int32_t setting_integer(const Settings *settings, const char *name) {
  return (int32_t)value_of(settings, name, INTEGER)->number;
}

double setting_number(const Settings *settings, const char *name) {
  return value_of(settings, name, NUMBER)->number;
}

bool setting_flag(const Settings *settings, const char *name) {
  return value_of(settings, name, FLAG)->number != 0;
}

const char *setting_text(const Settings *settings, const char *name) {
  return value_of(settings, name, TEXT)->text;
}

static const char *value_text(const Value *value) {
  switch (value->type) {
    case FLAG: return value->number != 0 ? "true" : "false";
    case TEXT: return text("\"%s\"", value->text);
    default: return text("%.15g", value->number);
  }
}

/* What the values of a setting are, in words. */
static const char *wanted(const Setting *setting) {
  const double low = setting->low, high = setting->high;
  Words words = {0};
  size_t length;
  switch (setting->type) {
    case INTEGER: return text("a whole number from %.15g to %.15g", low, high);
    case NUMBER: return text("a number from %.15g to %.15g", low, high);
    case FLAG: return "true or false";
    case TEXT: return "a string";
    case CHOICE: break;
  }
  for (const char *at = setting->text; (at = next_word(at, &length)); at += length)
    add(&words, "%s\"%.*s\"", words.length ? ", " : "one of ", (int)length, at);
  return words.text ? words.text : "nothing";
}

static bool is_choice(const char *words, const char *chosen) {
  size_t length;
  for (; (words = next_word(words, &length)); words += length)
    if (strlen(chosen) == length && !memcmp(words, chosen, length)) return true;
  return false;
}

static bool accepts(const Setting *setting, const Value *value) {
  if (setting->type == CHOICE) return value->type == TEXT && is_choice(setting->text, value->text);
  if (setting->type != value->type) return false;
  /* Not a number is within no bounds. */
  bool is_bounded = setting->type == INTEGER || setting->type == NUMBER;
  return !is_bounded || (setting->low <= value->number && value->number <= setting->high);
}

void check_settings(const Setting *declared, const Settings *given) {
  for (size_t i = 0; i < given->count; i++) {
    const Value *value = &given->values[i];
    const Setting *setting = declared;
    while (setting && setting->name && strcmp(setting->name, value->name)) setting++;
    if (!setting || !setting->name)
      problem(FAULT_SETTINGS, "there is no setting `%s`", value->name);
    else if (!accepts(setting, value))
      problem(FAULT_SETTINGS, "`%s` is %s, but must be %s", value->name, value_text(value),
              wanted(setting));
  }
}

/* ---- Chance (docs/contract.md, "Chance and splits") ---- */

static uint64_t mix(uint64_t bits) {
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111eb;
  return bits ^ (bits >> 31);
}

static uint64_t fold(uint64_t folded, const void *bytes, size_t size) {
  for (size_t i = 0; i < size; i++)
    folded = (folded ^ ((const uint8_t *)bytes)[i]) * 0x100000001b3;
  return folded;
}

static const uint64_t BASIS = 0xcbf29ce484222325;

uint64_t hash(const void *bytes, size_t size) {
  return mix(fold(BASIS, bytes, size));
}

Random random_for(Split split, uint32_t seed, const char *purpose) {
  uint8_t head[5] = {(uint8_t)split};
  for (int i = 0; i < 4; i++) head[i + 1] = (uint8_t)(seed >> 8 * i);
  uint64_t folded = fold(BASIS, head, sizeof head);
  return (Random){mix(fold(folded, purpose, strlen(purpose)))};
}

uint64_t random_bits(Random *random) {
  random->state += 0x9e3779b97f4a7c15;
  return mix(random->state);
}

size_t random_below(Random *random, size_t bound) {
  /* The upper 64 bits of bits * bound, in halves. */
  uint64_t bits = random_bits(random), factor = bound;
  uint64_t low = (bits & 0xffffffff) * (factor & 0xffffffff);
  uint64_t cross = (bits >> 32) * (factor & 0xffffffff) + (low >> 32);
  uint64_t other = (bits & 0xffffffff) * (factor >> 32) + (cross & 0xffffffff);
  return (size_t)((bits >> 32) * (factor >> 32) + (cross >> 32) + (other >> 32));
}

int random_between(Random *random, int low, int high) {
  return low + (int)random_below(random, (size_t)(high - low + 1));
}

void random_shuffle(Random *random, void *items, size_t count, size_t size) {
  char *held = scratch(size), *all = items;
  for (size_t last = count; last-- > 1;) {
    char *other = all + random_below(random, last + 1) * size;
    memcpy(held, other, size);
    memcpy(other, all + last * size, size);
    memcpy(all + last * size, held, size);
  }
}

Split owning_split(const void *problem, size_t size) {
  uint64_t owner = hash(problem, size) % 10;
  return owner == 0 ? VALIDATION : owner == 1 ? TEST : TRAIN;
}

/* ---- Outcomes ---- */

void tell(Outcome *outcome, const char *feedback) {
  outcome->effects[outcome->current].feedback = feedback;
}

void reject(Outcome *outcome, const char *feedback) {
  outcome->effects[outcome->current].accepted = false;
  tell(outcome, feedback);
}

static void award(Outcome *outcome, Award award) {
  if (award.value == 0) return;
  if (outcome->award_count == MOST_AWARDS)
    problem(FAULT_INTERNAL, "more than %d awards of one outcome", MOST_AWARDS);
  else
    outcome->awards[outcome->award_count++] = award;
}

void award_team(Outcome *outcome, const char *name, double value) {
  award(outcome, (Award){.to = FOR_TEAM, .name = name, .value = value});
}

void award_mover(Outcome *outcome, const char *name, double value) {
  uint32_t mover = (uint32_t)outcome->current;
  award(outcome, (Award){.to = FOR_MOVER, .mover = mover, .name = name, .value = value});
}

void award_seat(Outcome *outcome, Seat seat, const char *name, double value) {
  award(outcome, (Award){.to = FOR_SEAT, .seat = seat, .name = name, .value = value});
}

/* ---- Episodes: an environment that knows when it is over ---- */

static Episode *new_episode(const EnvironmentPlugin *plugin) {
  Episode *episode = calloc(1, sizeof(Episode) + plugin->size);
  if (!episode) abort();
  episode->plugin = plugin;
  return episode;
}

State *state_of(Episode *episode) {
  return (State *)episode->state;
}

Episode *episode_start(const EnvironmentPlugin *plugin, const Task *task) {
  Episode *episode = new_episode(plugin);
  plugin->table->start(state_of(episode), task);
  return episode;
}

static bool is_known(const ActionKind *kinds, const char *kind) {
  for (; kinds->name; kinds++)
    if (!strcmp(kinds->name, kind)) return true;
  problem(FAULT_ORDER, "there is no action of kind `%s` here", kind);
  return false;
}

static void act_in_turn(Episode *episode, const Move *moves, Outcome *outcome) {
  for (size_t i = 0; i < outcome->moves; i++) {
    outcome->current = i;
    if (outcome->status == ONGOING)
      episode->plugin->table->act(state_of(episode), &moves[i].seat, &moves[i].action, outcome);
    else
      reject(outcome, "The episode is over.");
  }
}

Outcome *episode_act(Episode *episode, const Move *moves, size_t count) {
  const Environment *table = episode->plugin->table;
  Outcome *outcome = scratch(sizeof(Outcome));
  outcome->effects = scratch(count * sizeof(Effect));
  outcome->moves = count;
  for (size_t i = 0; i < count; i++) outcome->effects[i] = (Effect){true, ""};
  if (episode->is_over) problem(FAULT_ORDER, "the episode is over");
  else if (count == 0) problem(FAULT_ORDER, "nobody moves");
  for (size_t i = 0; i < count; i++)
    if (!is_known(table->actions, moves[i].action.kind)) break;
  if (reported.any) return outcome;
  if (count > 1 && table->act_together)
    table->act_together(state_of(episode), moves, count, outcome);
  else
    act_in_turn(episode, moves, outcome);
  episode->is_over = outcome->status != ONGOING;
  return outcome;
}

Action episode_demonstrate(Episode *episode, const Seat *seat) {
  const Environment *table = episode->plugin->table;
  if (episode->is_over || !table->demonstrate) return (Action){0};
  return table->demonstrate(state_of(episode), seat);
}

Bytes episode_save(Episode *episode) {
  size_t size = episode->plugin->size;
  Bytes saved = {scratch(size + 1), size + 1};
  memcpy(saved.bytes, episode->state, size);
  saved.bytes[size] = (char)episode->is_over;
  return saved;
}

Episode *episode_resume(const EnvironmentPlugin *plugin, Bytes saved) {
  Episode *episode = new_episode(plugin);
  if (saved.size != plugin->size + 1) {
    problem(FAULT_STATE, "a saved state has %zu bytes, not %zu", plugin->size + 1, saved.size);
    return episode;
  }
  memcpy(episode->state, saved.bytes, plugin->size);
  episode->is_over = saved.bytes[plugin->size] != 0;
  return episode;
}
