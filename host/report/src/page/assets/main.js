
// The page: its views, its keys, and what happens when something in it fails.

const VIEWS = [
  ["overview", "Overview", showOverview],
  ["roles", "Roles", showRoles],
  ["episodes", "Episodes", showEpisodes],
  ["tasks", "Tasks", showTasks],
  ["setup", "Setup", showSetup],
];

function header() {
  const names = runs.map((run) => visible(run.name)).join(", ");
  const tab = address.get("tab", "overview");
  const tabs = VIEWS.map(([name, title]) =>
    button(title, () => address.go({ tab: name }), { "aria-current": name === tab ? "page" : null }),
  );
  const theme = address.get("theme") || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  const other = theme === "dark" ? "light" : "dark";
  return make(
    "header",
    {},
    make("h1", {}, make("bdi", { text: names })),
    make("nav", { "aria-label": "views" }, tabs),
    button(other, () => address.adjust({ theme: other }), { class: "theme", "aria-label": `${other} colors` }),
  );
}

function show() {
  const theme = address.get("theme");
  if (theme) document.documentElement.dataset.theme = theme;
  const tab = address.get("tab", "overview");
  const [name, , build] = VIEWS.find(([name]) => name === tab) || VIEWS[0];
  charts = [];
  const focused = document.activeElement?.id;
  const scrolled = document.getElementById("list")?.scrollTop;
  document.body.replaceChildren(header(), make("main", { data: { view: name } }, build()));
  charts.forEach(redraw);
  if (focused) document.getElementById(focused)?.focus();
  const list = document.getElementById("list");
  if (list && scrolled) list.scrollTop = scrolled;
  list?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
}

// j and k go through the episodes, / searches them.
function press(event) {
  const isTyping = event.target.closest("input, select, textarea");
  if (address.get("tab") !== "episodes" || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  const inList = event.target.closest("#list");
  const move = { j: 1, k: -1, ArrowDown: inList && 1, ArrowUp: inList && -1 }[event.key];
  if (move) {
    event.preventDefault();
    const run = address.run();
    moveEpisode(run, matchingEpisodes(run), move);
    if (inList) document.querySelector("#list [aria-current]")?.focus();
  } else if (event.key === "/") {
    event.preventDefault();
    document.getElementById("filter-q")?.focus();
  }
}

function fail(what) {
  document.body.prepend(make("p", { class: "note", id: "failed", role: "alert", text: `This page failed: ${what}` }));
}

addEventListener("error", (event) => fail(event.message));
addEventListener("hashchange", show);
addEventListener("resize", () => charts.forEach(redraw));
addEventListener("keydown", press);
show();
