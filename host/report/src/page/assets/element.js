
// How elements are made. Whatever models and plugins wrote goes in as text, never as markup.

function make(tag, options = {}, ...children) {
  return fill(document.createElement(tag), options, children);
}

function draw(tag, options = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), options, children);
}

function fill(element, options, children) {
  for (const [name, value] of Object.entries(options)) {
    if (value == null || value === false) continue;
    if (name === "text") element.textContent = value;
    else if (name === "on") Object.entries(value).forEach(([event, act]) => element.addEventListener(event, act));
    else if (name === "style") Object.entries(value).forEach(([key, to]) => element.style.setProperty(key, to));
    else if (name === "data") Object.assign(element.dataset, value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child != null));
  return element;
}

function button(text, act, options = {}) {
  return make("button", { type: "button", text, on: { click: act }, ...options });
}

// A text that somebody else wrote: by itself, so that its direction of writing stays in it.
function quoted(place, options = {}) {
  return make("div", { class: "text", dir: "auto", text: shownText(place), ...options });
}

// What is made only when it is opened.
function unfolding(summary, build, options = {}) {
  const details = make("details", options, make("summary", {}, summary));
  const open = () => {
    if (details.open && details.children.length === 1) details.append(...[build()].flat());
  };
  details.addEventListener("toggle", open);
  if (options.open) open();
  return details;
}

function table(head, rows, options = {}) {
  const cell = (tag) => (content) => make(tag, {}, content);
  return make(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": options.label || "table" },
    make(
      "table",
      {},
      make("thead", {}, make("tr", {}, head.map((name) => make("th", { scope: "col", text: name })))),
      make("tbody", {}, rows.map((row) => make("tr", {}, row.map(cell("td"))))),
    ),
  );
}

function section(title, ...children) {
  return make("section", { class: "card" }, make("h2", { text: title }), ...children);
}

function hint(text) {
  return make("p", { class: "hint", text });
}

function badge(ending) {
  return make("span", { class: `badge ${ending}`, text: ending });
}

// A number with its sign, in its color.
function worth(number, name) {
  const sort = number > 0 ? "good" : number < 0 ? "bad" : "even";
  const text = name ? `${visible(name)} ${signed(number)}` : signed(number);
  return make("span", { class: `worth ${sort}`, text });
}

function dot(of) {
  return make("span", { class: "dot", style: { background: of }, "aria-hidden": "true" });
}

// Choices of which one holds.
function choice(label, options, chosen, choose) {
  const one = ([value, name]) =>
    button(name, () => choose(value), { "aria-pressed": String(value === chosen) });
  return make("div", { class: "choice", role: "group", "aria-label": label }, options.map(one));
}

function picker(label, options, chosen, choose) {
  const select = make(
    "select",
    { on: { change: () => choose(select.value) } },
    options.map(([value, name]) => make("option", { value, text: name, selected: value === chosen })),
  );
  return make("label", { class: "field" }, make("span", { text: label }), select);
}
