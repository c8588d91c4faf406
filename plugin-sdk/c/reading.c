/* Reading what language models write: what counts may stand in a code block, or
 * in the last lines. The rules are those of every other language's SDK. */

#include "plugin.h"

#include <string.h>

enum { LINES = 64, BYTES = 64 << 10 };

/* A stretch of a text. */
typedef struct {
  const char *start;
  size_t length;
} Span;

size_t white_space_at(const char *text) {
  static const char *const WIDE[] = {
      "\xc2\x85", "\xc2\xa0", "\xe1\x9a\x80", "\xe2\x80\xa8", "\xe2\x80\xa9",
      "\xe2\x80\xaf", "\xe2\x81\x9f", "\xe3\x80\x80"};
  if ((uint8_t)*text < 0x80) return *text == ' ' || (*text >= '\t' && *text <= '\r');
  for (size_t i = 0; i < sizeof WIDE / sizeof *WIDE; i++)
    if (!strncmp(text, WIDE[i], strlen(WIDE[i]))) return strlen(WIDE[i]);
  /* U+2000 to U+200A */
  bool is_narrow = !strncmp(text, "\xe2\x80", 2) && (uint8_t)text[2] >= 0x80;
  return is_narrow && (uint8_t)text[2] <= 0x8a ? 3 : 0;
}

/* The same within a stretch of a text. */
static size_t space_at(const char *at, size_t left) {
  size_t size = left ? white_space_at(at) : 0;
  return size <= left ? size : 0;
}

/* The bytes of what may stand around an answer and begins here, or 0. */
static size_t trimmed_at(const char *at, size_t left, const char *marks) {
  size_t space = space_at(at, left);
  return space ? space : left && *at && strchr(marks, *at) ? 1 : 0;
}

static Span trim_end(Span span, const char *marks) {
  for (bool more = true; more && span.length;) {
    more = false;
    for (size_t size = 1; size <= 3 && size <= span.length && !more; size++)
      if (trimmed_at(span.start + span.length - size, size, marks) == size) {
        span.length -= size;
        more = true;
      }
  }
  return span;
}

size_t length_without_end(const char *text, size_t length) {
  return trim_end((Span){text, length}, "").length;
}

static Span trim(Span span, const char *marks) {
  size_t size;
  while ((size = trimmed_at(span.start, span.length, marks))) {
    span.start += size;
    span.length -= size;
  }
  return trim_end(span, marks);
}

static const char MARKS[] = "`*\"$";

static bool begins(Span span, const char *label) {
  size_t i = 0;
  for (; label[i]; i++) {
    char letter = i < span.length ? span.start[i] : 0;
    if (letter >= 'A' && letter <= 'Z') letter += 'a' - 'A';
    if (letter != label[i]) return false;
  }
  return true;
}

/* Without what may stand around an answer, and without a label before it. */
static Span bare(Span span) {
  static const char *const LABELS[] = {"final answer:", "answer:", "moves:", "plan:"};
  span = trim(span, MARKS);
  for (size_t i = 0; i < sizeof LABELS / sizeof *LABELS; i++) {
    size_t length = strlen(LABELS[i]);
    if (begins(span, LABELS[i]))
      return trim((Span){span.start + length, span.length - length}, MARKS);
  }
  return span;
}

/* Where a word stands the last time, or NULL. */
static const char *last_in(Span span, const char *word) {
  size_t length = strlen(word);
  for (size_t at = span.length + 1; at-- > 0;)
    if (at + length <= span.length && !memcmp(span.start + at, word, length))
      return span.start + at;
  return NULL;
}

/* What was marked as the answer, the last time; its start is NULL if nothing was. */
static Span marked(Span text) {
  const char *close = last_in(text, "</answer>");
  const char *open =
      close ? last_in((Span){text.start, (size_t)(close - text.start)}, "<answer>") : NULL;
  if (open) {
    open += strlen("<answer>");
    return (Span){open, (size_t)(close - open)};
  }
  const char *box = last_in(text, "\\boxed{");
  if (!box) return (Span){0};
  box += strlen("\\boxed{");
  int depth = 1;
  for (const char *at = box; at < text.start + text.length; at++) {
    depth += (*at == '{') - (*at == '}');
    if (depth == 0) return (Span){box, (size_t)(at - box)};
  }
  return (Span){0};
}

static Span last_block(Span text) {
  Span before = trim_end(text, "");
  const char *fence = last_in(text, "\n```");
  if (before.length >= 3 && !memcmp(before.start + before.length - 3, "```", 3)) before.length -= 3;
  else if (fence) before = (Span){text.start, (size_t)(fence - text.start)};
  else return (Span){0};
  const char *start = last_in(before, "```");
  if (!start) return (Span){0};
  start += 3;
  const char *end = before.start + before.length;
  const char *line = memchr(start, '\n', (size_t)(end - start));
  return line ? (Span){line + 1, (size_t)(end - line - 1)} : (Span){0};
}

/* The text, if it is long only the lines at its end, so that reading is bounded. */
static Span end_of(Span text) {
  if (text.length <= BYTES) return text;
  const char *end = text.start + text.length, *at = end - BYTES;
  while (at < end && ((uint8_t)*at & 0xc0) == 0x80) at++;
  const char *line = memchr(at, '\n', (size_t)(end - at));
  if (line) at = line + 1;
  return (Span){at, (size_t)(end - at)};
}

static Span line_of(const char *start, const char *end) {
  if (end > start && end[-1] == '\r') end--;
  return (Span){start, (size_t)(end - start)};
}

/* The last lines that are not blank, the last one first. */
static size_t last_lines(Span text, Span lines[LINES]) {
  size_t count = 0;
  const char *end = text.start + text.length;
  while (count < LINES && end >= text.start) {
    const char *start = end;
    while (start > text.start && start[-1] != '\n') start--;
    Span line = line_of(start, end);
    if (trim(line, "").length) lines[count++] = line;
    end = start - 1;
  }
  return count;
}

static const char *try_passage(Span passage, Parse *parse, void *into, bool *is_read) {
  passage = bare(passage);
  if (passage.length == 0) return NULL;
  const char *fault = parse(copy_text(passage.start, passage.length), into);
  *is_read = fault == NULL;
  return fault;
}

const char *read_last(const char *given, Parse *parse, void *into) {
  Span text = end_of(trim((Span){given, strlen(given)}, ""));
  Span lines[LINES];
  size_t count = last_lines(text, lines);
  Span first[] = {marked(text), text, last_block(text)};
  const char *blank = last_in(text, "\n\n"), *end = text.start + text.length;
  bool is_read = false;
  for (size_t i = 0; i < 3 && !is_read; i++)
    if (first[i].start) try_passage(first[i], parse, into, &is_read);
  for (size_t i = count; i-- > 0 && !is_read;)
    if (!blank || lines[i].start >= blank)
      try_passage((Span){lines[i].start, (size_t)(end - lines[i].start)}, parse, into, &is_read);
  for (size_t i = 0; i < count && !is_read; i++) try_passage(lines[i], parse, into, &is_read);
  if (is_read) return NULL;
  Span last = count ? bare(lines[0]) : (Span){"", 0};
  return parse(copy_text(last.start, last.length), into);
}

const char *answer_of(const char *given, bool complete) {
  Span text = {given, strlen(given)};
  const char *thought = last_in(text, "</think>");
  if (thought) {
    thought += strlen("</think>");
    text = (Span){thought, (size_t)(given + text.length - thought)};
  }
  text = trim(text, "");
  if (!complete) return "\xe2\x80\xa6";
  if (begins(text, "<think>")) return "";
  return copy_text(text.start, text.length);
}
