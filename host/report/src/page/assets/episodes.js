
// Recorded episodes: which there are, and one of them word by word.

const FILTERS = ["split", "end", "role", "step", "min", "max", "q"];

function showEpisodes() {
  const run = address.run();
  if (!run.episodes.length) return [runPicker(), hint("The run recorded no episodes, or none of them could be read.")];
  const matching = matchingEpisodes(run);
  const open = run.episodes[Number(address.get("e", "-1"))];
  return [
    runPicker(),
    filters(run, open),
    make("p", { class: "hint", id: "matching", text: `${count(matching.length)} of ${counted(run.episodes.length, "episode")} on this page` }),
    make(
      "div",
      { class: open ? "browser open" : "browser" },
      episodeList(run, matching),
      make("div", { class: "pane", id: "pane" }, open ? episode(run, open, matching) : hint("Choose an episode: with the pointer, or with j and k.")),
    ),
  ];
}

// Everything that is said in an episode, in small letters.
function wordsOf(story) {
  const places = (event) => [event.text, event.feedback, event.arguments, event.answer];
  const said = () => story.events.flatMap(places).filter((place) => Number.isInteger(place) && textAt(place) != null);
  story.words ||= said().map(textAt).join("\n").toLowerCase();
  return story.words;
}

function matchingEpisodes(run) {
  const [split, end, role, step, min, max, words] = FILTERS.map((name) => address.get(name));
  const holds = (story) =>
    (!split || story.split === split) &&
    (!end || story.ending === end) &&
    (!role || story.roles.some((one) => visible(one) === role)) &&
    (step === "" || story.step === Number(step)) &&
    (min === "" || story.reward >= Number(min)) &&
    (max === "" || story.reward <= Number(max)) &&
    (!words || wordsOf(story).includes(words.toLowerCase()));
  return run.episodes.filter(holds);
}

function filters(run, open) {
  const options = (values) => [["", "all"], ...values.map((value) => [visible(String(value)), visible(String(value))])];
  const present = (read) => [...new Set(run.episodes.flatMap(read))];
  const pick = (label, name, values) =>
    picker(label, options(values), address.get(name), (value) => address.adjust({ [name]: value }));
  const type = (label, name, kind) => {
    const adjust = () => address.adjust({ [name]: input.value });
    const input = make("input", { type: kind, id: `filter-${name}`, step: "any", value: address.get(name), on: { change: adjust } });
    return make("label", { class: "field" }, make("span", { text: label }), input);
  };
  return make(
    "div",
    { class: open ? "switches filters open" : "switches filters", role: "search" },
    pick("ended", "end", ENDINGS.filter((ending) => run.episodes.some((story) => story.ending === ending))),
    pick("split", "split", present((story) => story.split)),
    pick("role", "role", present((story) => story.roles).sort()),
    pick("step", "step", present((story) => story.step ?? [])),
    type("reward from", "min", "number"),
    type("to", "max", "number"),
    type("says", "q", "search"),
    button("clear", () => address.adjust(Object.fromEntries(FILTERS.map((name) => [name, ""])))),
  );
}

function episodeList(run, matching) {
  const chosen = address.get("e");
  const entry = (story) => {
    const index = String(run.episodes.indexOf(story));
    return make("li", {}, make(
      "button",
      { type: "button", class: "entry", "aria-current": index === chosen ? "true" : null, data: { episode: index }, on: { click: () => openEpisode(index) } },
      make("span", { text: `step ${story.step ?? "unknown"}` }),
      badge(story.ending),
      worth(story.reward),
      make("span", { class: "hint", text: `${story.split} · ${visible(story.family)} ${story.split === "train" ? story.task : story.seed}${story.episode ? ` · ${story.episode + 1}` : ""}` }),
    ));
  };
  return make("ol", { class: "list", id: "list", "aria-label": "episodes" }, matching.map(entry));
}

function openEpisode(index) {
  address.go({ e: index, node: "", turn: "" });
}

// The episode so many places after the one that is open, among those that match.
function moveEpisode(run, matching, by) {
  const at = matching.indexOf(run.episodes[Number(address.get("e", "-1"))]);
  const next = matching[at < 0 ? 0 : Math.max(0, Math.min(matching.length - 1, at + by))];
  if (next) openEpisode(String(run.episodes.indexOf(next)));
}

function episode(run, story, matching) {
  const view = address.get("view", "talk");
  const views = [["talk", "conversation"], ["tree", "tree"], ["same", "same task"]];
  return make(
    "article",
    {},
    make(
      "div",
      { class: "head" },
      button("← list", () => address.adjust({ e: "" }), { class: "narrow" }),
      button("previous", () => moveEpisode(run, matching, -1)),
      button("next", () => moveEpisode(run, matching, 1)),
    ),
    make("h2", {}, `Step ${story.step ?? "unknown"}, `, make("bdi", { text: visible(story.family) }), ` ${story.split} task ${story.seed} `, badge(story.ending)),
    make("p", {}, "reward ", worth(story.reward), ` · ${[...story.roles].map(visible).join(", ")}`),
    story.message == null ? null : make("div", { class: "note" }, make("strong", { text: `void: ${visible(story.cause)}` }), quoted(story.message)),
    choice("view", views, view, (view) => address.adjust({ view })),
    view === "talk" ? course(run, story) : null,
    { tree: showTree, same: sameTask, talk: conversation }[view]?.(run, story) ?? conversation(run, story),
  );
}

// A scene is what was seen, and beside it what was said and done until something else was.
function conversation(run, story) {
  const leaf = leafOf(run, story.step);
  const scenes = [];
  const seen = { text: null, drawing: null };
  for (const event of story.events) {
    const view = event.moment == null ? null : story.drawings?.[event.moment];
    const told = event.is === "observed" ? event.text : seen.text;
    const changed = told !== seen.text || (view && view.text !== seen.drawing);
    if (event.is !== "observed") lastOf(scenes).done.append(tellers[event.is](event, { run, leaf, story }));
    if (changed) scenes.push(scene(view, event));
    else if (event.is === "observed") lastOf(scenes).done.append(hint("Nothing to be seen has changed."));
    [seen.text, seen.drawing] = [told, view ? view.text : seen.drawing];
  }
  return make("div", { class: "talk" }, scenes.map((scene) => scene.element));
}

function lastOf(scenes) {
  if (!scenes.length) scenes.push(scene(null, {}));
  return scenes.at(-1);
}

function scene(view, event) {
  const done = make("div", { class: "done" });
  const text = event.is === "observed" ? event.text : null;
  const sight = view
    ? make("div", { class: "seen" }, picture(view), text == null ? null : unfolding("as it is told", () => quoted(text)))
    : text == null ? null : make("div", { class: "seen told" }, quoted(text));
  return { element: make("div", { class: view ? "scene drawn" : "scene" }, sight, done), done };
}

const tellers = {
  replied(event, { run, leaf, story }) {
    const who = visible(event.role) + (event.instance ? ` ${event.instance + 1}` : "");
    const where = event.thread ? `, ${visible(event.thread)}` : "";
    return make(
      "div",
      { class: "said", style: { "--own": colorOf(run, event.role) } },
      make("p", { class: "head" }, dot(colorOf(run, event.role)), make("strong", { text: who }), make("span", { class: "hint", text: `turn ${event.turn + 1}${where}` }), changeOf(story, event)),
      quoted(event.text),
      leaf && event.row != null ? siblings(run, leaf, event.row) : null,
      unfolding(`what it was told: ${counted(event.prompt.length, "message")}`, () => told(event)),
    );
  },

  acted(event) {
    return make(
      "div",
      { class: event.accepted ? "acted" : "acted refused" },
      make("p", { class: "head" },
        make("span", { class: "mark", text: event.accepted ? "✓ carried out" : "✗ not carried out in full" }),
        make("bdi", { text: `${visible(event.role)}: ${visible(event.kind)}` }),
        event.status === "ongoing" ? null : badge(event.status)),
      quoted(event.text),
      textAt(event.feedback) ? quoted(event.feedback, { class: "text feedback" }) : null,
      parts(event.parts),
    );
  },

  called(event) {
    return make(
      "div",
      { class: event.succeeded ? "acted" : "acted refused" },
      make("p", { class: "head" }, make("span", { class: "mark", text: event.succeeded ? "✓ tool" : "✗ tool" }), make("bdi", { text: `${visible(event.tool)}, for ${visible(event.role)}` })),
      quoted(event.arguments),
      quoted(event.answer, { class: "text feedback" }),
    );
  },

  credited(event) {
    return make("p", { class: "hint" }, `answer ${event.answer + 1} was credited with `, worth(event.value, event.name));
  },

  logged(event) {
    return make("p", { class: "hint" }, make("bdi", { text: `${visible(event.plugin)} logged (${visible(event.level)}): ${shownText(event.text)}` }));
  },
};

// How the environment draws a state. An image can only be looked at, whatever stands in it.
function picture(drawing) {
  if (drawing.svg == null) return make("div", { class: "text board", text: shownText(drawing.text) });
  const src = `data:image/svg+xml,${encodeURIComponent(textAt(drawing.svg))}`;
  return make("img", { class: "board", src, alt: `how it looks:\n${shownText(drawing.text)}` });
}

function told(event) {
  const message = ([author, text]) => make("div", { class: "message" }, make("p", { class: "hint", text: author }), quoted(text));
  const tools = (event.tools || []).map((tool) => make("div", { class: "message" }, make("p", { class: "hint", text: "tool" }), quoted(tool)));
  return [...event.prompt.map(message), ...tools];
}
