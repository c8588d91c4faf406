"use strict";

// What the page holds, and how its numbers and texts are read.

const page = JSON.parse(document.getElementById("data").textContent);
const runs = page.runs;

// What a screen would obey or not show is written out; lines stay lines.
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

function visible(text) {
  return text.replace(HIDDEN, (c) => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"));
}

// The text of a place, as it is, and how many bytes of it the page does not have.
function textAt(place) {
  return page.texts.list[place];
}

function missingAt(place) {
  return page.texts.cut[place] || 0;
}

function shownText(place) {
  const missing = missingAt(place);
  const text = visible(textAt(place));
  return missing ? `${text} … [${count(missing)} more bytes]` : text;
}

function count(number) {
  return number.toLocaleString("en-US");
}

// The plural of a word as English forms it most often.
function counted(number, word) {
  return `${count(number)} ${word}${number === 1 ? "" : "s"}`;
}

function percent(share) {
  return `${(100 * share).toFixed(1)} %`;
}

function signed(number) {
  const size = Math.abs(number);
  const text = size >= 100 ? number.toFixed(0) : size > 0 && size < 0.005 ? number.toPrecision(1) : number.toFixed(2);
  return number > 0 ? `+${text}` : text.replace("-", "−");
}

// A number as short as it is still told apart from its neighbors.
function short(number) {
  const size = Math.abs(number);
  if (size >= 1e9) return `${trimmed(number / 1e9)}G`;
  if (size >= 1e6) return `${trimmed(number / 1e6)}M`;
  if (size >= 1e4) return `${trimmed(number / 1e3)}k`;
  if (size > 0 && size < 1e-3) return number.toExponential(1);
  return trimmed(number);
}

// A number as it is read by itself: large ones to the last whole, as steps are counted.
function exact(number) {
  return Number.isInteger(number) || Math.abs(number) >= 1000 ? count(Math.round(number)) : short(number);
}

function trimmed(number) {
  return String(Number(number.toPrecision(3)));
}

function duration(seconds) {
  const whole = Math.round(seconds);
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60];
  if (hours) return `${hours} h ${minutes} min`;
  return whole < 60 ? `${seconds.toFixed(1)} s` : `${minutes} min ${whole % 60} s`;
}

function withInterval(success) {
  const [low, high] = [100 * success.low, 100 * success.high];
  return `${percent(success.success)} (${low.toFixed(1)} to ${high.toFixed(1)} %)`;
}

// Follow names into nested objects; undefined where there is nothing.
function dig(value, ...names) {
  return names.reduce((inner, name) => (inner == null ? undefined : inner[name]), value);
}

// The names that occur in an object of some lines, in their order.
function namesIn(lines, field) {
  const names = new Set();
  for (const line of lines) Object.keys(line[field] || {}).forEach((name) => names.add(name));
  return [...names].sort();
}

// What a curve can be drawn over, each with how much of it a run had used up by every line.
const AXES = {
  step: { name: "steps", of: (run) => run.metrics.map((line) => line.step) },
  samples: { name: "answers", of: (run) => soFar(run, "samples", (role) => role.samples) },
  tokens: {
    name: "completion tokens",
    of: (run) => soFar(run, "completion_tokens", (role) => role.samples * role.completion_tokens.mean),
  },
  seconds: { name: "seconds", of: (run) => ofMachine(run, "seconds") || secondsSoFar(run) },
  cpu: { name: "processor seconds", of: (run) => ofMachine(run, "cpu_seconds") },
};

// A total as the run counted it, or, of a run that did not, as its roles add up to.
function soFar(run, name, ofRole) {
  let sum = 0;
  return run.metrics.map((line) => {
    for (const role of Object.values(line.roles || {})) sum += ofRole(role);
    const total = dig(line, "totals", name);
    return total == null || (total === 0 && sum > 0) ? sum : total;
  });
}

function ofMachine(run, name) {
  const totals = run.metrics.map((line) => dig(line, "timing", "totals", name));
  return totals.length && totals.every((total) => total != null) ? totals : null;
}

function secondsSoFar(run) {
  let sum = 0;
  return run.metrics.map((line) => {
    for (const seconds of Object.values(dig(line, "timing", "seconds") || {})) sum += seconds;
    return sum;
  });
}

// The roles of a run, each with its color, the same everywhere on the page.
function colorOf(run, role) {
  run.roles ||= [...new Set([...namesIn(run.metrics, "roles"), ...run.episodes.flatMap((e) => e.roles)])];
  return color(run.roles.indexOf(role));
}

function color(index) {
  return `var(--c${(((index % 8) + 8) % 8) + 1})`;
}
