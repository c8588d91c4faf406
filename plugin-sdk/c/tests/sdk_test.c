/* The SDK itself: with arguments it draws numbers, which a test compares with
 * those of the other languages; without, it reads and fills in texts. */

#include "../testing.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct Session {
  int turns;
};

static void begun(Session *session, const View *views, Step *step) {
  keep(session, "seen", seen_by(views, (Seat){"a", 0}));
  ask(step, (Seat){"a", 0}, FIELDS({"observation", kept(session, "seen")}));
}

static const Role ROLES[] = {
    {.name = "a", .summary = "Sees.", .task = "Say it.", .message = "see {observation} {no field}",
     .acts = true},
    {0}};
static const Workflow echo = {
    .name = "echo", .version = "1.0.0", .summary = "", .roles = ROLES, .begun = begun};

TROUPE_WORKFLOW(echo)

static void draw(Split split, uint32_t seed, const char *purpose) {
  Random random = random_for(split, seed, purpose);
  for (int i = 0; i < 4; i++) printf("%016" PRIx64 " ", random_bits(&random));
  static const uint32_t BOUNDS[] = {0, 1, 2, 6, 100, 1000, 65537, 4294967295};
  random = random_for(split, seed, purpose);
  for (int i = 0; i < 8; i++) printf("%zu ", random_below(&random, BOUNDS[i]));
  char items[] = "0123456789";
  random = random_for(split, seed, purpose);
  random_shuffle(&random, items, 10, 1);
  printf("%s\n", items);
}

static void own(const char *hex) {
  uint8_t problem[64];
  size_t size = strlen(hex) / 2;
  for (size_t i = 0; i < size; i++)
    problem[i] = (uint8_t)strtol(copy_text(hex + 2 * i, 2), NULL, 16);
  static const char *const SPLITS[] = {"train", "validation", "test"};
  printf("%s\n", SPLITS[owning_split(problem, size)]);
}

/* Words of one letter each, put together. */
static const char *letters(const char *passage, void *into) {
  size_t length;
  char *all = into;
  *all = 0;
  for (; (passage = next_word(passage, &length)); passage += length) {
    if (length != 1) return text("`%.*s` is long.", (int)length, passage);
    strncat(all, passage, 1);
  }
  return NULL;
}

static void read(void) {
  static const char *const TEXTS[] = {
      "a b", "a\nb", "```\na b\n```", "I think:\n```text\na\nb\n```\nThat should do.",
      "I tried c.\nThen this:\na\nb", "c d\n\nRather:\n\na b", "Let us see\na b\nDone, I hope.",
      "**a b**", "Final answer: a b", "<answer>c</answer> or rather <answer> a b </answer>.",
      "So it is $\\boxed{a b}$ I say."};
  char found[16];
  for (size_t i = 0; i < sizeof TEXTS / sizeof *TEXTS; i++) {
    EXPECT(!read_last(TEXTS[i], letters, found));
    EXPECT_TEXT(found, "ab");
  }
  EXPECT_TEXT(read_last("why not\nno way", letters, found), "`no` is long.");
  EXPECT(!read_last("", letters, found));
  EXPECT_TEXT(answer_of("<think>U?</think>\n\nD D\n", true), "D D");
  EXPECT_TEXT(answer_of("U?</think>first\nD", true), "first\nD");
  EXPECT_TEXT(answer_of(" <think> and no end", true), "");
  EXPECT_TEXT(answer_of("U?</think>D<think>R?</think> <think>U U", true), "");
  EXPECT_TEXT(answer_of("D D", false), "\xe2\x80\xa6");
  EXPECT_TEXT(answer_of("<think>U?</think>D D", false), "\xe2\x80\xa6");
}

static const Setting SETTINGS[] = {
    INTEGER_SETTING("walls", "Walls.", 0, 9, 4),
    NUMBER_SETTING("slip", "Chance to slip.", 0, 0.9, 0.5),
    FLAG_SETTING("fog", "Whether there is fog.", true),
    CHOICE_SETTING("view", "The view.", "list map"),
    TEXT_SETTING("name", "A name.", "ann"),
    {0}};

static void expect_refused(Value value, const char *reason) {
  reported.any = false;
  check_settings(SETTINGS, &(Settings){1, &value});
  EXPECT(reason ? reported.any && reported.fault == FAULT_SETTINGS : !reported.any);
  if (reason) EXPECT_TEXT(reported.message, reason);
  reported.any = false;
}

static void set(void) {
  static const char WALLS[] = "`walls` is %s, but must be a whole number from 0 to 9";
  static const char SLIP[] = "`slip` is %s, but must be a number from 0 to 0.9";
  expect_refused((Value){"walls", INTEGER, 9, ""}, NULL);
  expect_refused((Value){"view", TEXT, 0, "map"}, NULL);
  expect_refused((Value){"name", TEXT, 0, ""}, NULL);
  expect_refused((Value){"walls", INTEGER, 10, ""}, text(WALLS, "10"));
  expect_refused((Value){"walls", NUMBER, 4, ""}, text(WALLS, "4"));
  expect_refused((Value){"slip", NUMBER, 1.5, ""}, text(SLIP, "1.5"));
  expect_refused((Value){"slip", NUMBER, NAN, ""}, text(SLIP, "nan"));
  expect_refused((Value){"fog", TEXT, 0, "yes"}, "`fog` is \"yes\", but must be true or false");
  expect_refused((Value){"view", TEXT, 0, "ma"},
                 "`view` is \"ma\", but must be one of \"list\", \"map\"");
  expect_refused((Value){"name", FLAG, 0, ""}, "`name` is false, but must be a string");
  expect_refused((Value){"doors", INTEGER, 1, ""}, "there is no setting `doors`");
}

/* What is white space in the other languages is white space here. */
static void split(void) {
  static const char *const GAPS[] = {" ", "\n", "\r\n", "\u00a0", "\xc2\x85", "\u2003", "\u3000"};
  for (size_t i = 0; i < sizeof GAPS / sizeof *GAPS; i++) {
    EXPECT(count_words(text("%sone%stwo%s", GAPS[i], GAPS[i], GAPS[i])) == 2);
    EXPECT(length_without_end(text("one%s", GAPS[i]), 3 + strlen(GAPS[i])) == 3);
  }
  EXPECT(count_words("one\u200btwo\ufeffthree\x1c") == 1);
  EXPECT(count_words("\u00a0\u00a0") == 0 && white_space_at("") == 0);
}

static void speak(void) {
  Talk *talk = begin_talk("Rules.", "do", NULL);
  const Step *step = hears_begun(&talk, "a {observation}");
  EXPECT_TEXT(step->requests[0].told, "see a {observation} {no field}");
  EXPECT_TEXT(step->requests[0].system, "Rules.\n\nSay it. You may think first. End your answer "
                                        "with a word, and nothing after it.");
  talk = begin_talk("", "do", "a_message={plan}");
}

int main(int count, char **words) {
  if (count == 5) draw((Split)atoi(words[2]), (uint32_t)strtoul(words[3], NULL, 10), words[4]);
  else if (count == 3) own(words[2]);
  else if (count == 2) speak(); /* ends with a problem: the field is unknown */
  else read(), set(), split();
  return 0;
}
