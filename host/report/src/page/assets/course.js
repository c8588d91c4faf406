
// What an episode's turns gained and lost: its worth over its rounds, and the answers that were not given.

const STRIP = { height: 150, left: 44, right: 14, top: 12, bottom: 28 };

function course(run, story) {
  const found = story.course;
  if (!found?.rounds.length) return null;
  const detail = make("div", { class: "detail", id: "turn", "aria-live": "polite" });
  const open = (bend, turn) => {
    detail.replaceChildren(turnDetail(run, found, bend, turn));
    address.adjust({ turn: `${bend.round}.${bend.turns.indexOf(turn)}` });
  };
  const chosen = address.get("turn");
  for (const bend of found.rounds) {
    bend.turns.forEach((turn, place) => {
      if (chosen === `${bend.round}.${place}`) detail.replaceChildren(turnDetail(run, found, bend, turn));
    });
  }
  const what = found.measure === "solved" ? "the share of forks from there that solve the task" : "what the team earns from there on, on average over forks";
  return make(
    "section",
    { class: "course", "aria-label": "what each turn changed" },
    make("h3", { text: "What each turn changed" }),
    hint(`Height: ${what}. A line falls or rises by what an answer changed; bars are two standard errors. Choose a turn to see what it could have answered.`),
    make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "worth over rounds" }, strip(run, found, open)),
    turningPoints(run, found, open),
    detail,
  );
}

// The turns that changed most, the greatest first.
function turningPoints(run, found, open) {
  const all = found.rounds.flatMap((bend) => bend.turns.map((turn) => ({ bend, turn })));
  const clear = all.filter(({ turn }) => turn.effect.interval.low > 0 || turn.effect.interval.high < 0);
  clear.sort((a, b) => Math.abs(b.turn.effect.mean) - Math.abs(a.turn.effect.mean));
  if (!clear.length) return hint("No turn clearly changed anything.");
  const one = ({ bend, turn }) =>
    button(`${visible(turn.role)}, turn ${turn.turn + 1}: ${signed(turn.effect.mean)}`, () => open(bend, turn), { class: "point", style: { "--own": colorOf(run, turn.role) } });
  return make("div", { class: "choice points", role: "group", "aria-label": "turning points" }, clear.slice(0, 6).map(one));
}

function strip(run, found, open) {
  const { rounds } = found;
  const values = rounds.flatMap(({ before, after }) => [before.mean, after.mean]);
  const [low, high] = found.measure === "solved" ? [0, 1] : extent(values);
  const gap = Math.max(34, Math.min(90, 760 / rounds.length));
  const width = STRIP.left + STRIP.right + gap * rounds.length;
  const x = (place) => STRIP.left + gap * place;
  const y = (value) => STRIP.top + (STRIP.height - STRIP.top - STRIP.bottom) * (1 - (value - low) / (high - low));
  const across = ticks([low, high], 3).flatMap((at) => [
    draw("line", { class: "grid", x1: STRIP.left, x2: width - STRIP.right, y1: y(at), y2: y(at) }),
    draw("text", { class: "tick end", x: STRIP.left - 6, y: y(at) + 4, text: short(at) }),
  ]);
  const parts = rounds.flatMap((bend, place) => [
    whisker(x(place), y, bend.before),
    ...bend.turns.map((turn, seat) => leg(run, { bend, turn, seat, open, from: [x(place), y(bend.before.mean)], to: [x(place + 1), y(bend.after.mean)] })),
  ]);
  const last = rounds.at(-1);
  const end = draw("circle", { class: "point", cx: x(rounds.length), cy: y(last.after.mean), r: 3, style: { fill: "var(--ink)" } });
  return draw(
    "svg",
    { class: "strip", viewBox: `0 0 ${width} ${STRIP.height}`, width, height: STRIP.height, role: "group", "aria-label": "worth over rounds" },
    ...across, ...parts, end,
    draw("text", { class: "tick end", x: width - STRIP.right, y: STRIP.height - 4, text: "rounds" }),
  );
}

function whisker(x, y, value) {
  const half = 2 * value.error;
  return draw("line", { class: "whisker", x1: x, x2: x, y1: y(value.mean - half), y2: y(value.mean + half) });
}

// What a round changed, in the color of who answered; several who did at once lie side by side.
function leg(run, { bend, turn, seat, open, from, to }) {
  const act = () => open(bend, turn);
  const said = `${visible(turn.role)}, turn ${turn.turn + 1}: changed ${signed(turn.effect.mean)}`;
  const shift = 3 * seat;
  const press = (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    act();
  };
  return draw(
    "g",
    { class: "leg", role: "button", tabindex: "0", "aria-label": said, style: { "--own": colorOf(run, turn.role) }, on: { click: act, keydown: press } },
    draw("title", { text: said }),
    draw("line", { class: "reach", x1: from[0], y1: from[1], x2: to[0], y2: to[1] }),
    draw("line", { class: "way", x1: from[0], y1: from[1] + shift, x2: to[0], y2: to[1] + shift }),
    draw("circle", { cx: from[0], cy: from[1] + shift, r: 4.5 }),
  );
}

function turnDetail(run, found, bend, turn) {
  const { mean, interval } = turn.effect;
  const said = (value) => (found.measure === "solved" ? percent(value) : signed(value));
  const row = ([text, drawn, outcome]) => [
    make("bdi", { class: text === turn.text ? "own" : null, text: shownText(text) + (text === turn.text ? " (its own)" : "") }),
    `${drawn} of ${bend.before.forks}`,
    said(outcome),
  ];
  return make(
    "div",
    { class: "answer" },
    make("p", { class: "head" }, dot(colorOf(run, turn.role)), make("strong", { text: `${visible(turn.role)}${turn.instance ? ` ${turn.instance + 1}` : ""}, turn ${turn.turn + 1}` }), " changed ", worth(mean), make("span", { class: "hint", text: ` (${signed(interval.low)} to ${signed(interval.high)})` })),
    make("p", {}, `worth before ${said(bend.before.mean)}, after ${said(bend.after.mean)}; it answered:`),
    quoted(turn.text),
    make("p", { class: "hint", text: "What it answers in this state, and where that leads:" }),
    table(["answer", "drawn", "outcome"], turn.others.map(row), { label: "answers it could have given" }),
  );
}

// What an answer of the conversation changed.
function changeOf(story, event) {
  const same = (turn) => turn.role === event.role && turn.instance === (event.instance || 0) && turn.thread === (event.thread || "") && turn.turn === event.turn;
  const turn = story.course?.rounds.flatMap((bend) => bend.turns).find(same);
  return turn ? worth(turn.effect.mean, "changed") : null;
}
