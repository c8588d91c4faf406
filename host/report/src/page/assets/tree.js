
// The answers of a task as a tree: a column for each round, a line to the answer before.

const COLUMN = 106;
const ROW = 26;
const NODES = 800;

function showTree(run, story) {
  const leaf = leafOf(run, story.step);
  const rows = leaf ? leaf.rows.map((answer, index) => ({ answer, index })).filter(({ answer }) => answer.task === story.task) : [];
  // Of an episode that is no row of the step, another task may bear the number.
  const path = new Set(story.events.map((event) => event.row).filter((row) => row != null));
  if (!rows.length || !path.size) return hint("Only training episodes have a tree, and of this one the page has no answers.");
  const nodes = layOut(rows.slice(0, NODES));
  const detail = make("div", { class: "detail", "aria-live": "polite" });
  const open = (node) => {
    detail.replaceChildren(
      make("h3", {}, dot(colorOf(run, node.answer.role)), `${visible(node.answer.role)}, round ${node.answer.round + 1}`),
      sideBySide(run, siblingsOf(leaf, node.index)),
    );
    address.adjust({ node: node.index });
  };
  const svg = treeDrawing(run, nodes, path, open);
  const chosen = nodes.find((node) => String(node.index) === address.get("node"));
  if (chosen) open(chosen);
  return [
    hint("A column is a round, a circle an answer with its reward; the episode went the way of the thick line. Choose one to see it beside its siblings."),
    rows.length > NODES ? hint(`The first ${NODES} of ${count(rows.length)} answers.`) : null,
    make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "tree of answers" }, svg),
    detail,
  ];
}

// Where each answer stands: below those of the same round whose parents stand above.
function layOut(rows) {
  const nodes = rows.map(({ answer, index }) => ({ answer, index }));
  const byRow = new Map(nodes.map((node) => [node.index, node]));
  const rounds = [...new Set(nodes.map((node) => node.answer.round))].sort((a, b) => a - b);
  const above = (node) => dig(byRow.get(node.answer.parent), "y") ?? -1;
  rounds.forEach((round, column) => {
    const here = nodes.filter((node) => node.answer.round === round);
    here.sort((a, b) => above(a) - above(b) || a.index - b.index);
    here.forEach((node, at) => Object.assign(node, { x: 20 + column * COLUMN, y: 20 + at * ROW, parent: byRow.get(node.answer.parent) }));
  });
  return nodes;
}

function treeDrawing(run, nodes, path, open) {
  const width = Math.max(...nodes.map((node) => node.x)) + COLUMN;
  const height = Math.max(...nodes.map((node) => node.y)) + ROW;
  const edge = (node) => {
    const from = node.parent;
    const middle = (from.x + 54 + node.x) / 2;
    const on = path.has(node.index) ? "edge on" : "edge";
    return draw("path", { class: on, d: `M${from.x + 54},${from.y} C${middle + 8},${from.y} ${middle},${node.y} ${node.x - 9},${node.y}` });
  };
  return draw(
    "svg",
    { class: "tree", viewBox: `0 0 ${width} ${height}`, width, height, role: "group", "aria-label": "tree of answers" },
    nodes.filter((node) => node.parent).map(edge),
    nodes.map((node) => treeNode(run, node, path.has(node.index), open)),
  );
}

function treeNode(run, node, isOn, open) {
  const { answer } = node;
  const reward = rewardOf(run, answer);
  const act = () => open(node);
  return draw(
    "g",
    {
      class: isOn ? "node on" : answer.kept ? "node kept" : "node",
      role: "button",
      tabindex: "0",
      "aria-label": `${visible(answer.role)}, answer ${answer.branch + 1}, reward ${signed(reward)}${isOn ? ", kept" : ""}`,
      on: {
        click: act,
        keydown: (event) => {
          if (event.key !== "Enter" && event.key !== " ") return;
          event.preventDefault();
          act();
        },
      },
    },
    draw("circle", { cx: node.x, cy: node.y, r: isOn ? 7 : 5.5, style: { stroke: colorOf(run, answer.role), fill: isOn ? colorOf(run, answer.role) : "var(--paper)" } }),
    draw("text", { class: `tick ${reward > 0 ? "good" : reward < 0 ? "bad" : ""}`, x: node.x + 11, y: node.y + 4, text: signed(reward) }),
  );
}
