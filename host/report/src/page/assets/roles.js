
// What each role and each policy of a run did, step by step.

function showRoles() {
  const run = address.run();
  const roles = namesIn(run.metrics, "roles");
  const policies = namesIn(run.metrics, "updates");
  const critics = namesIn(run.metrics, "critics");
  return [
    runPicker(),
    roles.length ? null : hint("The run has not made a step yet."),
    understudies(run),
    roles.map((role) => roleCard(run, role)),
    policies.map((policy) => policyCard(run, policy)),
    critics.map((critic) => criticCard(run, critic)),
  ].flat();
}

// What each role is good for: the team with somebody else in its place.
function understudies(run) {
  const found = run.role_worth;
  if (!Array.isArray(found?.roles) || !found.roles.length) return null;
  const points = (share) => (share * 100).toFixed(1).replace("-", "−");
  const row = ({ role, understudy, success, effect }) => [
    make("span", {}, dot(colorOf(run, role)), make("bdi", { text: visible(role) })),
    visible(understudy.replace("began", "as it began").replace("expert", "the expert")),
    percent(success),
    `${points(effect.mean)} (${points(effect.interval.low)} to ${points(effect.interval.high)})`,
  ];
  return section(
    "What each role is good for",
    hint(`${percent(found.success)} of ${counted(found.tasks, `${visible(found.split)} task`)} are solved by the team as trained, and so many with one role played by somebody else:`),
    table(["role", "played by", "solved", "its own policy adds, in points (95 %)"], found.roles.map(row), { label: "what each role is good for" }),
  );
}

function runPicker() {
  if (runs.length < 2) return null;
  const options = runs.map((run, index) => [String(index), visible(run.name)]);
  return make("div", { class: "switches" }, picker("run", options, address.get("run", "0"), (run) => address.go({ run, e: "", node: "" })));
}

// A curve of what a line says, where it says it.
function series(run, name, of, read) {
  const points = run.metrics.flatMap((line) => {
    const y = read(line);
    return y == null ? [] : [typeof y === "number" ? { x: line.step, y } : { x: line.step, ...y }];
  });
  return { name, color: of, points, named: true };
}

function roleCard(run, role) {
  const of = (line) => dig(line, "roles", role);
  const own = colorOf(run, role);
  const spread = (at) => at && { y: at.mean, low: at.mean - at.std, high: at.mean + at.std };
  const parts = [...new Set(run.metrics.flatMap((line) => Object.keys(dig(of(line), "parts") || {})))].sort();
  const x = "steps";
  return make(
    "section",
    { class: "card" },
    make("h2", {}, dot(own), make("bdi", { text: visible(role) })),
    make(
      "div",
      { class: "charts" },
      lineChart({ title: "Reward, mean and standard deviation", x, series: [series(run, "reward", own, (line) => spread(dig(of(line), "reward")))] }),
      lineChart({ title: "Reward by part, before α", x, series: parts.map((part, index) => series(run, part, color(index), (line) => dig(of(line), "parts", part))) }),
      lineChart({ title: "Answers carried out in full, and cut", x, percents: true, series: [
        series(run, "accepted", "var(--solved)", (line) => dig(of(line), "accepted")),
        series(run, "cut", "var(--failed)", (line) => dig(of(line), "cut")),
      ] }),
      lineChart({ title: "Tokens of an answer", x, from0: true, series: [series(run, "tokens", own, (line) => spread(dig(of(line), "completion_tokens")))] }),
      lineChart({ title: "Spread within its groups", x, from0: true, series: [series(run, "spread", own, (line) => dig(of(line), "groups", "spread"))] }),
      lineChart({ title: "Groups that were left out", x, percents: true, series: [series(run, "dropped", own, (line) => dig(of(line), "groups", "dropped"))] }),
      byTurn(run, of),
      information(run, role),
    ),
  );
}

// Reward by turn, in the first and the last step that had the role.
function byTurn(run, of) {
  const lines = run.metrics.filter((line) => dig(of(line), "reward_by_turn"));
  const ends = lines.length > 1 ? [lines[0], lines.at(-1)] : lines;
  const curves = ends.map((line, index) => ({
    name: `step ${line.step}`,
    named: true,
    dashed: index === 0,
    color: color(index),
    points: of(line).reward_by_turn.map((y, turn) => ({ x: turn + 1, y })),
  }));
  return lineChart({ title: "Reward by turn", x: "turn", series: curves });
}

// How much answers depend on what was asked; it is measured now and then.
function information(run, role) {
  const of = (line, name) => dig(line, "information", role, name);
  if (!run.metrics.some((line) => of(line, "information") != null)) return null;
  const one = (name, key, index) => series(run, name, color(index), (line) => of(line, key));
  return lineChart({ title: "What answers say of their prompts, nats per answer", x: "steps", series: [
    one("information", "information", 0),
    one("entropy after a prompt", "entropy_within", 1),
  ] });
}

function criticCard(run, critic) {
  const of = (line, kind, name) => dig(line, "critics", critic, kind, name);
  const one = (title, kind, name, options = {}) =>
    run.metrics.some((line) => of(line, kind, name) != null)
      ? lineChart({ title, x: "steps", from0: true, ...options, series: [series(run, name, color(0), (line) => of(line, kind, name))] })
      : null;
  return make(
    "section",
    { class: "card" },
    make("h2", {}, "Critic ", make("bdi", { text: visible(critic) })),
    make(
      "div",
      { class: "charts" },
      one("Pairs of episodes told right", "contests", "right", { percents: true }),
      one("Loss of telling them, log 2 if it knows nothing", "contests", "loss"),
      one("Loss of values, squared rewards", "values", "loss"),
      one("Answers it could learn from", "values", "answers"),
    ),
  );
}

function policyCard(run, policy) {
  const of = (line, name) => dig(line, "updates", policy, name);
  const one = (title, names, options = {}) =>
    lineChart({ title, x: "steps", ...options, series: names.map((name, index) => series(run, name, color(index), (line) => of(line, name))) });
  return make(
    "section",
    { class: "card" },
    make("h2", {}, "Policy ", make("bdi", { text: visible(policy) })),
    make(
      "div",
      { class: "charts" },
      one("Entropy, nats per token", ["entropy"], { from0: true }),
      one("How far an update moved it, nats per token", ["movement"], { from0: true }),
      one("How much less likely good answers became, nats per token", ["displacement"]),
      one("Tokens held by the clip", ["clip_low_share", "clip_high_share"], { percents: true }),
      one("Gradient norm before clipping", ["gradient_norm"], { from0: true }),
      one("Learning rate", ["learning_rate"], { from0: true }),
      run.has_reference ? one("Divergence from where it began", ["kl"], { from0: true }) : null,
    ),
  );
}
