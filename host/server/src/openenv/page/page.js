"use strict";

const view = Object.fromEntries([
  "name", "others", "summary", "begin", "split", "seed", "drawing", "text",
  "turn", "act", "kinds", "kind", "roles", "role", "action", "words", "send", "rewards", "rules",
  "log",
].map((id) => [id, byId(id)]));

let socket = null;
let described = false;
let sums = new Map();

function option(value) {
  const element = document.createElement("option");
  element.textContent = value;
  return element;
}

/* What is served: its name, and the kinds of action and the seats to choose from. */
async function describe() {
  const [metadata, schema] = await Promise.all(["metadata", "schema"].map(told));
  document.title = view.name.textContent = metadata.name;
  view.summary.textContent = metadata.description;
  const { kind, role, text } = schema.action.properties;
  const kinds = kind ? kind.enum : [];
  view.kind.replaceChildren(...kinds.map(option));
  view.kinds.hidden = kinds.length < 2;
  view.role.replaceChildren(...role.enum.map(option));
  view.roles.hidden = !kind || role.enum.length < 2;
  offer(text.description);
  described = true;
}

/* What stands between backquotes can be clicked. */
function offer(text) {
  const words = new Set([...text.matchAll(/`([^`\n]{1,24})`/g)].map((match) => match[1]));
  const known = new Set([...view.words.children].map((button) => button.textContent));
  for (const word of words) {
    if (known.has(word) || view.words.childElementCount >= 40) continue;
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = word;
    button.addEventListener("click", () => {
      const gap = view.action.value && !/\s$/.test(view.action.value) ? " " : "";
      view.action.value += gap + word;
      view.action.focus();
    });
    view.words.append(button);
  }
}

function say(type, data) {
  socket.send(JSON.stringify({ type, data }));
}

function connect() {
  return new Promise((resolve, reject) => {
    const address = new URL("ws", location.href);
    address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
    const protocols = ["troupe"];
    if (token.value) protocols.push("troupe.token." + token.value);
    const opened = new WebSocket(address, protocols);
    opened.addEventListener("open", () => resolve(opened));
    opened.addEventListener("error", () => reject(new Error("The server cannot be reached.")));
    opened.addEventListener("message", (event) => hear(JSON.parse(event.data)));
    opened.addEventListener("close", (event) => {
      if (socket === opened) socket = null;
      allow(false);
      if (event.reason) notice(event.reason, true);
    });
  });
}

function allow(may) {
  view.action.disabled = view.send.disabled = !may;
}

function hear({ type, data }) {
  if (type === "observation") {
    show(data);
    say("render");
  } else if (type === "render") {
    draw(data);
  } else if (type === "error") {
    notice(data.message, true);
    allow(data.code === "VALIDATION_ERROR" && view.text.textContent !== "");
  }
}

function show({ observation, reward, done, metadata }) {
  view.text.textContent = observation.text || "";
  const told = (observation.messages || []).map((one) => `[${one.role}]\n${one.content}`);
  if (observation.rules) told.unshift(observation.rules);
  if (told.length) {
    view.rules.textContent = told.join("\n\n");
    offer(told.join("\n"));
  }
  view.turn.textContent = observation.role ? `It is the turn of ${observation.role}.` : "";
  if (observation.feedback) record(observation.feedback);
  for (const one of metadata.actions || []) {
    const verdict = one.accepted ? "" : " (not accepted)";
    record(`${one.role} ${one.kind} ${one.text}${verdict} ${one.feedback}`);
  }
  if (metadata.seed !== undefined) record(`task ${metadata.seed} of ${metadata.split}`);
  if (reward !== null) count(metadata, reward);
  notice(done ? `The episode is over: ${metadata.status}.` : "");
  allow(!done);
  if (!done) view.action.focus();
}

function draw(rendering) {
  view.drawing.hidden = !rendering;
  if (rendering) drawn(rendering, view.drawing);
}

/* Rewards by part, then to each seat, then all of it. */
function count(metadata, reward) {
  const now = new Map(Object.entries(metadata.parts || {}));
  const seats = Object.entries(metadata.rewards || {});
  if (seats.length > 1) for (const [seat, value] of seats) now.set("to " + seat, value);
  now.set("all", reward);
  const before = sums.get("all") || 0;
  sums.delete("all");
  for (const [name, value] of now) sums.set(name, (sums.get(name) || 0) + value);
  sums.set("all", before + reward);
  const round = (value) => Number((value || 0).toFixed(4));
  view.rewards.replaceChildren(...[...sums].map(([name, sum]) => {
    const row = document.createElement("tr");
    for (const text of [name, round(now.get(name)), round(sum)]) {
      row.append(Object.assign(document.createElement("td"), { textContent: text }));
    }
    return row;
  }));
}

function record(text) {
  view.log.append(Object.assign(document.createElement("li"), { textContent: text }));
  view.log.lastElementChild.scrollIntoView({ block: "nearest" });
}

/* An episode: the one that is asked for, or any. */
async function begin() {
  try {
    if (!described) await describe();
    if (!socket) socket = await connect();
    sums = new Map();
    view.rewards.replaceChildren();
    view.log.replaceChildren();
    const data = { split: view.split.value };
    if (view.seed.value !== "") data.seed = Number(view.seed.value);
    say("reset", data);
  } catch (error) {
    notice(error.message, true);
  }
}

view.begin.addEventListener("submit", (event) => {
  event.preventDefault();
  begin();
});

view.act.addEventListener("submit", (event) => {
  event.preventDefault();
  if (!socket || view.send.disabled) return;
  const data = { text: view.action.value };
  if (view.kind.value) data.kind = view.kind.value;
  if (!view.roles.hidden) data.role = view.role.value;
  allow(false);
  record("> " + data.text);
  say("step", data);
  view.action.value = "";
});

view.action.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey) {
    event.preventDefault();
    view.act.requestSubmit();
  }
});

/* One of several is served below its name. */
view.others.hidden = location.pathname === "/";
begin();
