
// Curves: drawn as wide as their place is, read with the pointer or the arrow keys.

// Those of the view that is shown.
let charts = [];

const MARGIN = { top: 10, right: 14, bottom: 34, left: 48 };

// A chart of series `{ name, color, points: [{ x, y, low, high }], dashed }`.
function lineChart({ title, series, x, percents = false, from0 = false, height = 220 }) {
  const shown = series.filter((one) => one.points.length);
  const figure = make("figure", { class: "chart" }, make("figcaption", { text: title }));
  if (!shown.length) {
    figure.append(hint("nothing was measured"));
    return figure;
  }
  const said = (value) => (percents ? percent(value) : exact(value));
  const readout = make("p", { class: "readout", "aria-live": "polite" });
  const place = make("div", { class: "plot" });
  const chart = { title, shown, x, percents, from0, height, said, readout, place };
  charts.push(chart);
  return fill(figure, {}, [place, legend(shown), readout, unfolding("numbers", () => numbers(chart))]);
}

function legend(series) {
  if (series.length < 2 && !series[0].named) return null;
  const entry = (one) => make("li", {}, dot(one.color), make("bdi", { text: visible(one.name) }));
  return make("ul", { class: "legend" }, series.map(entry));
}

function numbers({ shown, x, said }) {
  const rows = shown.flatMap((one) =>
    one.points.map((point) => [exact(point.x), visible(one.name), spoken(point, said)]),
  );
  return table([x, "curve", "value"], rows, { label: "numbers of the chart" });
}

function spoken(point, said) {
  const band = point.low == null ? "" : ` (${said(point.low)} to ${said(point.high)})`;
  return said(point.y) + band;
}

// The range of some numbers, with a little air.
function extent(values, from0) {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    if (Number.isFinite(value)) [low, high] = [Math.min(low, value), Math.max(high, value)];
  }
  if (from0) low = Math.min(low, 0);
  if (low > high) return [0, 1];
  return low === high ? [low - 0.5, high + 0.5] : [low, high];
}

// Round numbers within a range, about so many.
function ticks([low, high], about) {
  const rough = (high - low) / about;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= rough) || rough;
  const found = [];
  for (let at = Math.ceil(low / step - 1e-9) * step; at <= high + step * 1e-9; at += step) {
    found.push(Math.abs(at) < step * 1e-9 ? 0 : at);
  }
  return found;
}

function redraw(chart) {
  const width = Math.floor(chart.place.clientWidth);
  if (!width || width === chart.width) return;
  chart.width = width;
  const points = chart.shown.flatMap((one) => one.points);
  const ys = chart.percents ? [0, 1] : extent(points.flatMap((p) => [p.y, p.low ?? p.y, p.high ?? p.y]), chart.from0);
  const xs = extent(points.map((point) => point.x));
  const scale = (from, to, [low, high]) => (value) => from + ((to - from) * (value - low)) / (high - low);
  chart.toX = scale(MARGIN.left, width - MARGIN.right, xs);
  chart.toY = scale(chart.height - MARGIN.bottom, MARGIN.top, ys);
  const cursor = draw("line", { class: "cursor", y1: MARGIN.top, y2: chart.height - MARGIN.bottom });
  const svg = draw(
    "svg",
    {
      viewBox: `0 0 ${width} ${chart.height}`,
      width,
      height: chart.height,
      role: "img",
      tabindex: "0",
      "aria-label": `${chart.title}, over ${chart.x}; left and right read the values`,
    },
    grid(chart, xs, ys),
    chart.shown.map((one) => curve(chart, one)),
    cursor,
  );
  listen(chart, svg, cursor);
  chart.place.replaceChildren(svg);
}

function grid({ width, height, toX, toY, percents, x }, xs, ys) {
  const right = width - MARGIN.right;
  const bottom = height - MARGIN.bottom;
  const across = ticks(ys, 4).flatMap((at) => [
    draw("line", { class: "grid", x1: MARGIN.left, x2: right, y1: toY(at), y2: toY(at) }),
    draw("text", { class: "tick end", x: MARGIN.left - 6, y: toY(at) + 4, text: percents ? percent(at).replace(".0 %", " %") : short(at) }),
  ]);
  const down = ticks(xs, Math.max(2, width / 90)).map((at) =>
    draw("text", { class: "tick middle", x: toX(at), y: bottom + 15, text: short(at) }),
  );
  const name = draw("text", { class: "tick end", x: right, y: height - 3, text: x });
  return [...across, ...down, name];
}

function curve({ toX, toY }, { points, color, dashed }) {
  const at = (y) => (point) => `${toX(point.x).toFixed(1)},${toY(y(point)).toFixed(1)}`;
  const drawn = points.filter((point) => Number.isFinite(point.y));
  const banded = drawn.filter((point) => point.low != null);
  const band = [...banded.map(at((p) => p.high)), ...banded.toReversed().map(at((p) => p.low))];
  const parts = [];
  if (band.length) parts.push(draw("polygon", { class: "band", points: band.join(" "), style: { fill: color } }));
  const path = drawn.map(at((point) => point.y)).join(" ");
  parts.push(draw("polyline", { class: dashed ? "curve dashed" : "curve", points: path, style: { stroke: color } }));
  if (drawn.length <= 60) {
    for (const point of drawn) {
      parts.push(draw("circle", { class: "point", cx: toX(point.x), cy: toY(point.y), r: 2.5, style: { fill: color } }));
    }
  }
  return parts;
}

// Show the values at the x nearest to the pointer, or one further with the keys.
function listen(chart, svg, cursor) {
  const all = [...new Set(chart.shown.flatMap((one) => one.points.map((point) => point.x)))];
  all.sort((a, b) => a - b);
  let now = all.length - 1;
  const show = (index) => {
    now = Math.max(0, Math.min(all.length - 1, index));
    cursor.setAttribute("x1", chart.toX(all[now]));
    cursor.setAttribute("x2", chart.toX(all[now]));
    cursor.classList.add("shown");
    const values = chart.shown.flatMap((one) => {
      const point = one.points.find((point) => point.x === all[now]);
      return point ? [`${visible(one.name)} ${spoken(point, chart.said)}`] : [];
    });
    chart.readout.textContent = `${chart.x} ${exact(all[now])}: ${values.join(" · ")}`;
  };
  svg.addEventListener("pointermove", (event) => {
    const at = event.clientX - svg.getBoundingClientRect().left;
    const distance = (value) => Math.abs(chart.toX(value) - at);
    show(all.reduce((best, value, index) => (distance(value) < distance(all[best]) ? index : best), 0));
  });
  svg.addEventListener("keydown", (event) => {
    const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!move) return;
    event.preventDefault();
    show(now + move);
  });
}

// Shares of a whole, one bar for each line.
function bars(label, rows) {
  const parts = [...new Set(rows.flatMap((row) => row.parts.map(([name]) => name)))];
  const ofPart = (name) => color(parts.indexOf(name));
  const bar = ({ name, parts, said }) => {
    const whole = parts.reduce((sum, [, value]) => sum + value, 0) || 1;
    const piece = ([part, value]) =>
      make("span", {
        style: { width: `${(100 * value) / whole}%`, background: ofPart(part) },
        title: `${visible(part)}: ${said(value)}, ${percent(value / whole)}`,
      });
    return [
      make("dt", {}, make("bdi", { text: visible(name) }), ` ${said(whole)}`),
      make("dd", { class: "bar" }, parts.map(piece)),
    ];
  };
  const entry = (name) => make("li", {}, dot(ofPart(name)), make("bdi", { text: visible(name) }));
  return make("div", { role: "group", "aria-label": label },
    make("dl", { class: "bars" }, rows.flatMap(bar)),
    make("ul", { class: "legend" }, parts.map(entry)));
}
