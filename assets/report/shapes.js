// Parts of charts and tables, and the two that are not curves: intervals and stacked bars.

function key(tone) {
  return el("span", { class: `key tone-${tone}` });
}

function tick(x, y, text, anchor) {
  return draw("text", { class: "tick", x, y, "text-anchor": anchor }, text);
}

function dot(x, y, r, tone) {
  return draw("circle", { class: `dot tone-${tone}`, cx: x, cy: y, r });
}

/** A table; the first cell of a row is its name. Cells are texts or elements. */
function table(caption, head, rows) {
  const body = rows.map(([name, ...cells]) =>
    el("tr", {}, el("th", { scope: "row" }, name), cells.map((cell) => el("td", {}, cell))));
  return el("table", {},
    caption && el("caption", {}, caption),
    head && el("thead", {}, el("tr", {}, head.map((name) => el("th", { scope: "col" }, name)))),
    el("tbody", {}, body));
}

const ROW = 56;
const NAMES_WIDTH = 64;

/** Rows of two figures with intervals, before and after: `name`, `before`, `after`, `difference`. */
function intervals(title, rows, note) {
  const host = el("div", { class: "plot" });
  const high = Math.min(1, 1.15 * Math.max(...rows.flatMap((row) => [row.before.high, row.after.high])));
  new ResizeObserver(() => replace(host, intervalPlot(title, rows, { high, width: host.clientWidth }))).observe(host);
  const cell = ({ value, low, high: top }, sign) => [
    el("b", {}, sign, percentPoints(value)), el("br"),
    el("span", { class: "quiet" }, `${percentPoints(low)} to ${percentPoints(top)}`),
  ];
  const numbers = rows.map(({ name, before, after, difference }) =>
    [name, cell(before, ""), cell(after, ""), cell(difference, difference.value > 0 ? "+" : "")]);
  return el("figure", { class: "chart", "data-chart": title },
    el("figcaption", {}, title),
    el("ul", { class: "legend" }, el("li", {}, key(7), "before training"), el("li", {}, key(1), "after training")),
    host,
    el("p", { class: "note" }, note),
    el("div", { class: "scroll figures" }, table(null, ["%", "before", "after", "difference"], numbers)));
}

function intervalPlot(title, rows, { high, width }) {
  const height = 40 + rows.length * ROW;
  const x = (value) => NAMES_WIDTH + ((width - NAMES_WIDTH - 12) * value) / high;
  const scale = ticks(0, high, Math.max(2, Math.floor(width / 70))).map((value) => [
    draw("line", { class: "grid", x1: x(value), x2: x(value), y1: 6, y2: height - 24 }),
    tick(x(value), height - 7, `${Math.round(100 * value)} %`, "middle"),
  ]);
  const mark = ({ value, low, high: top }, y, tone) => [
    draw("line", { class: `interval tone-${tone}`, x1: x(low), x2: x(top), y1: y, y2: y }),
    dot(x(value), y, 5, tone),
  ];
  const marks = rows.map(({ name, before, after }, at) => {
    const middle = 36 + at * ROW;
    const named = draw("text", { class: "row-name", x: 0, y: middle + 4 }, name);
    return [named, mark(before, middle - 9, 7), mark(after, middle + 9, 1)];
  });
  const size = { width, height, viewBox: `0 0 ${width} ${height}` };
  return draw("svg", { role: "img", "aria-label": title, ...size }, scale, marks);
}

/** Rows that are each divided into named parts: `rows` of [name, values by part], `tone` of a part. */
function bars(title, rows, parts, tone) {
  const value = (values, part) => values[part] ?? 0;
  const divided = rows.map(([row, values]) => {
    const pieces = parts.map((part) => {
      const said = `${words(part)}: ${figure(value(values, part))}`;
      const piece = el("span", { class: `piece tone-${tone(part)}`, title: visible(said) });
      piece.style.flexGrow = value(values, part);
      return piece;
    });
    return [el("div", {}, row), el("div", { class: "bar", "aria-hidden": "true" }, pieces)];
  });
  const numbers = parts.map((part) =>
    [[key(tone(part)), visible(words(part))], ...rows.map(([, values]) => figure(value(values, part)))]);
  return el("figure", { class: "chart", "data-chart": title },
    el("figcaption", {}, title),
    el("div", { class: "bars" }, divided),
    el("div", { class: "scroll" }, table(null, ["", ...rows.map(([row]) => row)], numbers)));
}
