
// The answers to one state, side by side.

function leafOf(run, step) {
  return run.tables.find((leaf) => leaf.step === step);
}

function siblingsOf(leaf, row) {
  return leaf.rows.filter((other) => other.group === leaf.rows[row].group);
}

// r = α·team + local.
function rewardOf(run, answer) {
  return run.alpha * answer.team + answer.local;
}

// The siblings of an answer: their rewards at a glance, and all of them when it is opened.
function siblings(run, leaf, row) {
  const own = leaf.rows[row];
  const all = siblingsOf(leaf, row);
  if (all.length < 2) return make("p", { class: "hint" }, "worth ", worth(rewardOf(run, own)), " · the only answer");
  const chip = (answer) =>
    make("span", { class: answer === own ? "chip kept" : "chip" }, worth(rewardOf(run, answer)));
  const what = own.apart ? `${all.length} answers of this turn, in states of their own` : `${all.length} answers to this state`;
  const summary = make("span", { class: "chips" }, what, all.map(chip));
  return unfolding(summary, () => sideBySide(run, all), { class: "siblings" });
}

function sideBySide(run, answers) {
  return make("div", { class: "side", role: "list" }, answers.map((answer) => answerCard(run, answer)));
}

function answerCard(run, answer) {
  const facts = [
    answer.kept ? "went on from it" : null,
    answer.accepted ? null : "not carried out in full",
    answer.was_cut ? "cut by the limit" : null,
    counted(answer.tokens, "token"),
  ].filter(Boolean);
  const advantage = answer.advantage == null ? "left out" : signed(answer.advantage);
  return make(
    "div",
    { class: answer.kept ? "answer kept" : "answer", role: "listitem" },
    make("p", { class: "head" }, make("strong", { text: `answer ${answer.branch + 1}` }), answer.kept ? make("span", { class: "badge kept", text: "kept" }) : null),
    quoted(answer.text),
    make(
      "dl",
      { class: "facts" },
      make("dt", { text: "reward" }), make("dd", {}, worth(rewardOf(run, answer))),
      make("dt", { text: "team, own" }), make("dd", { text: `${signed(answer.team)}, ${signed(answer.local)}` }),
      make("dt", { text: "advantage" }), make("dd", { text: advantage }),
      make("dt", { text: "weight" }), make("dd", { text: short(answer.weight) }),
    ),
    parts(answer.parts),
    make("p", { class: "hint", text: facts.join(" · ") }),
  );
}

function parts(of) {
  const shares = Object.entries(of || {}).filter(([, value]) => value !== 0);
  return shares.length ? make("p", { class: "parts" }, shares.map(([name, value]) => worth(value, name))) : null;
}
