// Reading what language models write: what counts may stand in a code block, or
// in the last lines. The rules are those of every other language's SDK.

/** Lines, counted from the end, in which an answer is looked for, and bytes. */
const LINES = 64;
const BYTES = 64 << 10;
const LABELS = ['final answer:', 'answer:', 'moves:', 'plan:'];
const SPACE = '\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009'
  + '\u200a\u2028\u2029\u202f\u205f\u3000';
const WRAPPING = SPACE + '`*"$';
const GAPS = new RegExp(`[${SPACE}]+`, 'u');

const trim = (text) => strip(text, SPACE);
const linesOf = (text) => {
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines;
};

/** The text without white space at its end. */
export function trimEnd(text) {
  return stripEnd(text, SPACE);
}

/** The text without these letters around it. */
function strip(text, letters) {
  let start = 0;
  while (start < text.length && letters.includes(text[start])) start++;
  return stripEnd(text.slice(start), letters);
}

/** The same of its end. A pattern would look at a gap in the middle from each of its letters. */
function stripEnd(text, letters) {
  let end = text.length;
  while (end > 0 && letters.includes(text[end - 1])) end--;
  return text.slice(0, end);
}

/** The words of a text, split at white space. */
export function words(text) {
  return text.split(GAPS).filter((word) => word !== '');
}

/**
 * What `parse` makes of what is marked, of the text, of its last code block, of
 * its last lines together, or of the last line that it can read. `parse` throws
 * for what it cannot read; the error is that of the last line.
 */
export function last(text, parse) {
  const whole = end(trim(text));
  const lines = lastLines(whole);
  for (const passage of [marked(whole), whole, lastBlock(whole), ...paragraph(whole, lines), ...[...lines].reverse()]) {
    const said = passage === null ? '' : bare(passage.text ?? passage);
    if (said === '') continue;
    try {
      return parse(said);
    } catch {
      // The next passage may be readable.
    }
  }
  return parse(bare(lines.at(-1)?.text ?? ''));
}

/** The text without what may stand around an answer, and without a label before it. */
export function bare(text) {
  const inner = strip(text, WRAPPING);
  const label = LABELS.find((known) => inner.slice(0, known.length).toLowerCase() === known);
  return label ? strip(inner.slice(label.length), WRAPPING) : inner;
}

/** What was marked as the answer, the last time: `<answer>7</answer>` or `\boxed{7}`. */
export function marked(text) {
  const close = text.lastIndexOf('</answer>');
  const open = close < 0 ? -1 : text.slice(0, close).lastIndexOf('<answer>');
  if (open >= 0) return text.slice(open + '<answer>'.length, close);
  const box = text.lastIndexOf('\\boxed{');
  if (box < 0) return null;
  const inside = text.slice(box + '\\boxed{'.length);
  for (let at = 0, depth = 1; at < inside.length; at++) {
    depth += inside[at] === '{' ? 1 : inside[at] === '}' ? -1 : 0;
    if (depth === 0) return inside.slice(0, at);
  }
  return null;
}

/** The answer that a text comes to: what is marked, or its last line. */
export function finalAnswer(text) {
  const inside = marked(text);
  if (inside !== null) return bare(inside);
  const line = lastLines(text).at(-1)?.text ?? '';
  return bare(stripEnd(bare(line), '.'));
}

/** A program: what stands in the last fenced block, or all of it. */
export function program(text) {
  return lastBlock(text) ?? text;
}

/**
 * What a role says when it has thought: what follows the last `</think>`, or all
 * of it. Of thinking that came to no end nothing counts, nor of an answer that is
 * not complete: the limit cut it, and an ellipsis stands for it, which cannot be read.
 */
export function answerOf(text, complete = true) {
  const mark = text.lastIndexOf('</think>');
  const said = trim(mark < 0 ? text : text.slice(mark + '</think>'.length));
  if (!complete) return '…';
  return said.startsWith('<think>') ? '' : said;
}

function lastBlock(text) {
  const ended = trimEnd(text);
  const fence = text.lastIndexOf('\n```');
  if (!ended.endsWith('```') && fence < 0) return null;
  const before = ended.endsWith('```') ? ended.slice(0, -3) : text.slice(0, fence);
  const start = before.lastIndexOf('```');
  const line = before.indexOf('\n', start + 3);
  return start < 0 || line < 0 ? null : before.slice(line + 1);
}

/** The text, if it is long only the lines at its end, so that reading is bounded. */
function end(text) {
  if (text.length * 3 <= BYTES) return text;
  let bytes = 0;
  let at = text.length;
  for (; at > 0; at--) {
    const code = text.charCodeAt(at - 1);
    // Each half of a surrogate pair counts as half of its four bytes.
    bytes += code < 0x80 ? 1 : code < 0x800 || (code >= 0xd800 && code < 0xe000) ? 2 : 3;
    if (bytes > BYTES) break;
  }
  if (at === 0) return text;
  const rest = text.slice(at);
  const line = rest.indexOf('\n');
  return line < 0 ? rest : rest.slice(line + 1);
}

/** The last lines that are not blank, in their order, each with its place. */
function lastLines(text) {
  let at = 0;
  const lines = linesOf(text).map((line) => {
    const placed = { at, text: line.endsWith('\r') ? line.slice(0, -1) : line };
    at += line.length + 1;
    return placed;
  });
  return lines.filter((line) => trim(line.text) !== '').slice(-LINES);
}

/** The text from each of the last lines on, as far as no blank line is in between. */
function paragraph(text, lines) {
  const begin = Math.max(text.lastIndexOf('\n\n'), 0);
  return lines.filter(({ at }) => at >= begin).map(({ at }) => text.slice(at));
}
