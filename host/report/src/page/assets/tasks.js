
// Held-out tasks: what became of each as training went on, and one of them at several steps.

const ENDING_OF = { s: "solved", f: "failed", F: "finished", t: "truncated", v: "void", "-": "unknown" };

function showTasks() {
  const run = address.run();
  const sets = [...new Set(run.held_out.map(setOf))];
  if (!sets.length) return [runPicker(), hint("The run has no outcomes of held-out tasks.")];
  const chosen = sets.includes(address.get("set")) ? address.get("set") : sets.find((set) => set.startsWith("validation")) || sets[0];
  const steps = run.held_out.filter((one) => setOf(one) === chosen);
  return [
    runPicker(),
    make("div", { class: "switches" }, picker("tasks", sets.map((set) => [set, visible(set)]), chosen, (set) => address.adjust({ set }))),
    section("Every task at every step, with the likeliest answers", taskGrid(run, steps), gridLegend(), hint("Framed ones are recorded: choose one to read it.")),
  ];
}

function setOf(one) {
  return `${one.split} · ${one.family}`;
}

function gridLegend() {
  const entry = (ending) => make("li", {}, dot(`var(--${ending})`), ending);
  return make("ul", { class: "legend" }, ENDINGS.map(entry));
}

function taskGrid(run, steps) {
  const tasks = Math.max(...steps.map((one) => one.endings.length));
  const size = Math.max(9, Math.min(18, Math.floor(900 / tasks)));
  const [label, line] = [64, Math.max(size + 2, 15)];
  const row = (one, y) => [
    draw("text", { class: "tick end", x: label - 6, y: y * line + 11, text: `step ${one.step}` }),
    [...one.endings].map((letter, task) => cell(run, one, task, letter, { x: label + task * (size + 1), y: y * line + 1, size })),
  ];
  const [width, height] = [label + tasks * (size + 1), steps.length * line];
  const options = { viewBox: `0 0 ${width} ${height}`, width, height, role: "group", "aria-label": "outcomes of held-out tasks" };
  return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "outcomes of held-out tasks" }, draw("svg", options, steps.flatMap(row).flat()));
}

function cell(run, { step, split, family }, task, letter, { x, y, size }) {
  const ending = ENDING_OF[letter] || "unknown";
  const title = draw("title", { text: `task ${task}, step ${step}: ${ending}` });
  const square = { class: "cell", x, y, width: size, height: size, style: { fill: `var(--${ending})` } };
  // What `host blame` looked into was drawn, as a rule, and may have ended in another way.
  const index = run.episodes.findIndex((e) => !e.course && e.step === step && e.split === split && e.family === family && e.seed === task);
  if (index < 0) return draw("rect", square, title);
  const act = () => address.go({ tab: "episodes", e: index, view: "same", ...Object.fromEntries(FILTERS.map((name) => [name, ""])) });
  const key = (event) => { if (event.key === "Enter") act(); };
  return draw("rect", { ...square, class: "cell there", role: "button", tabindex: "0", "aria-label": title.textContent, on: { click: act, keydown: key } }, title);
}

// A task as it went at the first, the best and the last step that have it recorded.
function sameTask(run, story) {
  const alike = run.episodes.filter((other) => other.split === story.split && other.family === story.family && other.seed === story.seed);
  const steps = [...new Set(alike.flatMap((other) => other.step ?? []))].sort((a, b) => a - b);
  const chosen = new Set([steps[0], run.best, steps.at(-1), story.step]);
  const shown = alike.filter((other) => chosen.has(other.step));
  if (shown.length < 2) return hint("This page has the task once. Held-out tasks are recorded whenever the run measures them; training tasks rarely come again.");
  return make("div", { class: "side" }, shown.map((other) => shortStory(run, other)));
}

function shortStory(run, story) {
  const name = [story.step === run.best ? "best" : null, story.step === 0 ? "before" : null, story.course ? "looked into" : null].filter(Boolean);
  const last = story.drawings?.at(-1);
  const answers = story.events.filter((event) => event.is === "replied");
  const line = (event) => make("li", {}, dot(colorOf(run, event.role)), make("bdi", { text: `${visible(event.role)}: ` }), quoted(event.text));
  return make(
    "div",
    { class: "answer" },
    make("p", { class: "head" }, make("strong", { text: `step ${story.step ?? "unknown"}` }), name.length ? make("span", { class: "hint", text: name.join(", ") }) : null, badge(story.ending), worth(story.reward)),
    last ? picture(last) : null,
    make("ol", { class: "answers" }, answers.map(line)),
    button("read it", () => address.go({ e: run.episodes.indexOf(story), view: "talk" })),
  );
}
