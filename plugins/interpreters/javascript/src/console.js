// `console`.

import { format, inspect } from './inspect.js';

export function makeConsole(process) {
  const counts = new Map();
  const started = new Map();
  let margin = '';
  const print = (stream, text) => {
    const shown = margin ? margin + text.replace(/\n/g, `\n${margin}`) : text;
    stream.write(`${shown}\n`);
  };
  const log = (...values) => print(process.stdout, format(...values));
  const error = (...values) => print(process.stderr, format(...values));
  const elapsed = (label) => `${label}: ${(Date.now() - (started.get(label) ?? Date.now())).toFixed(3)}ms`;
  return {
    log,
    info: log,
    debug: log,
    error,
    warn: error,
    trace: (...values) => error(`Trace: ${format(...values)}`),
    dir: (value, options) => print(process.stdout, inspect(value, options)),
    table: (value) => print(process.stdout, table(value)),
    assert(condition, ...values) {
      if (!condition) error(values.length ? `Assertion failed: ${format(...values)}` : 'Assertion failed');
    },
    count(label = 'default') {
      counts.set(label, (counts.get(label) ?? 0) + 1);
      log(`${label}: ${counts.get(label)}`);
    },
    countReset: (label = 'default') => void counts.delete(label),
    group(...values) {
      if (values.length) log(...values);
      margin += '  ';
    },
    groupEnd: () => void (margin = margin.slice(2)),
    time: (label = 'default') => void started.set(label, Date.now()),
    timeLog: (label = 'default') => log(elapsed(label)),
    timeEnd: (label = 'default') => log(elapsed(label)),
  };
}

function table(value) {
  if (typeof value !== 'object' || value === null) return format(value);
  const rows = value instanceof Map ? [...value] : Object.entries(value);
  const columns = [];
  let plain = false;
  for (const [, row] of rows) {
    if (typeof row !== 'object' || row === null) plain = true;
    else for (const key of Object.keys(row)) if (!columns.includes(key)) columns.push(key);
  }
  const cell = (row, key) => (typeof row === 'object' && row !== null && Object.hasOwn(row, key) ? inspect(row[key], { depth: 0 }) : '');
  const lines = rows.map(([index, row]) => [
    String(index),
    ...columns.map((key) => cell(row, key)),
    ...(plain ? [typeof row === 'object' && row !== null ? '' : inspect(row)] : []),
  ]);
  return draw(['(index)', ...columns, ...(plain ? ['Values'] : [])], lines);
}

function draw(head, lines) {
  const widths = head.map((title, i) => Math.max(title.length, ...lines.map((line) => line[i].length)) + 2);
  const row = (cells) => `│${cells.map((text, i) => ` ${text}`.padEnd(widths[i])).join('│')}│`;
  const rule = (left, middle, right) => left + widths.map((width) => '─'.repeat(width)).join(middle) + right;
  return [rule('┌', '┬', '┐'), row(head), rule('├', '┼', '┤'), ...lines.map(row), rule('└', '┴', '┘')].join('\n');
}
