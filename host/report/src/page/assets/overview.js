
// What all runs came to, laid over each other.

function showOverview() {
  return [
    make("div", { class: "cards" }, runs.map(runCard)),
    hasWarnings() ? warningsCard() : null,
    successCard(),
    section("Before and after", beforeAfter()),
    section("Where the time went", phases(), hint("Seconds by phase of all steps that the page has figures of.")),
    endingsCard(),
    hasWarnings() ? null : warningsCard(),
  ].filter(Boolean);
}

function hasWarnings() {
  return runs.some((run) => run.notes.length || run.metrics.some((line) => line.warnings));
}

function runCard(run, index) {
  const last = run.metrics.at(-1) || { step: 0 };
  const { before, after } = run.summary || {};
  const facts = [
    after && make("p", { class: "change" }, make("span", { text: percent(before.success) }), " → ", make("strong", { text: percent(after.success) })),
    make("p", { class: "hint", text: after ? "of test tasks solved, before and after" : "it has not come to its end yet" }),
    make("p", { text: `${counted(last.step, "step")}${run.summary ? ` in ${duration(run.summary.seconds)}` : ""}, best at step ${run.best ?? "–"}` }),
    run.caveats.map((caveat) => make("p", { class: "hint", text: `note: ${visible(caveat)}` })),
  ];
  return make("section", { class: "card run" }, make("h2", {}, dot(color(index)), make("bdi", { text: visible(run.name) })), facts);
}

// Success on held-out tasks: points of the lines that measured it.
function successPoints(run, xs, read) {
  return run.metrics.flatMap((line, index) => {
    const success = read(line);
    return success ? [{ x: xs[index], y: success.success, low: success.low, high: success.high }] : [];
  });
}

function axes() {
  return Object.entries(AXES).filter(([, axis]) => runs.every((run) => axis.of(run)));
}

function successCard() {
  const known = axes();
  const chosen = known.some(([name]) => name === address.get("axis")) ? address.get("axis") : "step";
  const axis = AXES[chosen];
  const answers = address.get("answers", "greedy");
  const series = runs.map((run, index) => ({
    name: run.name,
    named: runs.length > 1,
    color: color(index),
    points: successPoints(run, axis.of(run), (line) => dig(line, "validation", answers)),
  }));
  return section(
    "Success on validation tasks",
    make(
      "div",
      { class: "switches" },
      choice("over", known.map(([name, axis]) => [name, axis.name]), chosen, (axis) => address.adjust({ axis })),
      choice("answers", [["greedy", "likeliest answers"], ["sampled", "drawn answers"]], answers, (answers) => address.adjust({ answers })),
    ),
    lineChart({ title: "Share of tasks solved, with its 95 % interval", series, x: axis.name, percents: true, height: 300 }),
    byFamily(axis),
  );
}

function byFamily(axis) {
  const charts = runs.flatMap((run) => {
    const families = [...new Set(run.metrics.flatMap((line) => Object.keys(dig(line, "validation", "families") || {})))];
    if (families.length < 2) return [];
    const series = families.map((family, index) => ({
      name: family,
      color: color(index),
      points: successPoints(run, axis.of(run), (line) => dig(line, "validation", "families", family)),
    }));
    return [lineChart({ title: `${visible(run.name)}: by family, likeliest answers`, series, x: axis.name, percents: true })];
  });
  return charts.length ? make("div", { class: "charts" }, charts) : null;
}

function beforeAfter() {
  const row = (run, what, change) => [visible(run.name), visible(what), withInterval(change.before), withInterval(change.after), String(change.after.tasks)];
  const rows = runs.flatMap((run) => {
    const { summary } = run;
    if (!summary) return [];
    const families = Object.entries(summary.families || {});
    return [
      row(run, "likeliest answers", summary),
      ...(summary.best ? [row(run, `best checkpoint, step ${summary.best.step}`, { before: summary.before, after: summary.best.test })] : []),
      ...(summary.sampled ? [row(run, "drawn answers", summary.sampled)] : []),
      ...(families.length > 1 ? families.map(([name, change]) => row(run, name, change)) : []),
    ];
  });
  if (!rows.length) return hint("A run has these figures when it has come to its end.");
  return table(["run", "test tasks", "before", "after", "tasks"], rows, { label: "before and after" });
}

function phases() {
  const rows = runs.map((run) => {
    const sums = {};
    for (const line of run.metrics) {
      for (const [name, value] of Object.entries(dig(line, "timing", "seconds") || {})) sums[name] = (sums[name] || 0) + value;
    }
    return { name: run.name, parts: Object.entries(sums), said: duration };
  });
  return bars("seconds by phase", rows);
}

const ENDINGS = ["solved", "failed", "finished", "truncated", "void"];

function endingsCard() {
  const charts = runs.map((run) => {
    const share = (line, ending) => (line.endings[ending] || 0) / line.episodes;
    const lines = run.metrics.filter((line) => line.episodes);
    const series = ENDINGS.filter((ending) => lines.some((line) => line.endings[ending])).map((ending) => ({
      name: ending,
      named: true,
      color: `var(--${ending})`,
      points: lines.map((line) => ({ x: line.step, y: share(line, ending) })),
    }));
    return lineChart({ title: visible(run.name), series, x: "steps", percents: true });
  });
  return section("How training episodes ended", make("div", { class: "charts" }, charts), voids());
}

function voids() {
  const rows = runs.flatMap((run) => Object.entries(run.void).map(([cause, times]) => [visible(run.name), visible(cause), count(times)]));
  return rows.length ? table(["run", "void because of", "episodes"], rows, { label: "void episodes by cause" }) : hint("No episode was void.");
}

function warningsCard() {
  const said = runs.flatMap((run) =>
    run.metrics.flatMap((line) => (line.warnings || []).map((text) => [visible(run.name), String(line.step), visible(text)])),
  );
  const notes = runs.flatMap((run) => run.notes.map((note) => make("li", { text: `${visible(run.name)}: ${visible(note)}` })));
  return section(
    "Warnings",
    said.length ? table(["run", "step", "what the run said"], said, { label: "warnings" }) : hint("The runs said nothing."),
    notes.length ? make("h3", { text: "What this page could not show" }) : null,
    notes.length ? make("ul", { class: "notes" }, notes) : null,
  );
}
