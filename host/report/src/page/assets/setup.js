
// What a run was made of, and how to have it again.

function showSetup() {
  const run = address.run();
  return [
    runPicker(),
    section("Commands", make("dl", { class: "commands" }, run.commands.flatMap(([why, command]) => [
      make("dt", { text: why }),
      make("dd", {}, make("code", { text: visible(command) })),
    ]))),
    section("Settings that are not the defaults", settings(run)),
    section("Digests and versions", manifest(run)),
    section("What this page shows of the run", shown(run)),
  ];
}

function settings(run) {
  const code = (value) => make("code", { text: value == null ? "–" : visible(value) });
  const rows = run.settings.map(({ key, default: usual, value }) => [code(key), code(usual), code(value)]);
  return rows.length ? table(["setting", "default", "in this run"], rows, { label: "settings" }) : hint("All settings are the defaults.");
}

function manifest(run) {
  if (!run.manifest) return hint("The run has no manifest.");
  const rows = leaves(run.manifest, []).map(([path, value]) => [visible(path.join(" · ")), make("code", { text: visible(String(value)) })]);
  return table(["what", "value"], rows, { label: "manifest" });
}

// The values of nested objects, each with the names on the way to it.
function leaves(value, path) {
  if (value === null || typeof value !== "object") return [[path, value]];
  return Object.entries(value).flatMap(([name, inner]) => leaves(inner, [...path, dig(inner, "name") || name]));
}

function shown(run) {
  const { episodes, episode_files, answers, answers_drawn, tables, left_out } = run.shown;
  const cut = Object.keys(page.texts.cut).length;
  const lines = [
    `${counted(episodes, "recorded episode")}, from ${count(episode_files[1])} of ${counted(episode_files[0], "file")} of episodes.`,
    left_out ? `${counted(left_out, "more episode")} of these files had no room.` : null,
    `${counted(answers, "answer")} of the ${count(answers_drawn)} that the run drew, from ${count(tables[1])} of ${counted(tables[0], "table")}.`,
    cut ? `${counted(cut, "long text")} of all runs ${cut === 1 ? "is" : "are"} cut, and ${cut === 1 ? "says" : "say"} so.` : null,
    "The first, the best and the last step come first, then those between them. More: --episodes, --answers, --text-bytes and --mib.",
    `Made by host ${page.version}.`,
  ];
  return make("ul", {}, lines.filter(Boolean).map((text) => make("li", { text })));
}
