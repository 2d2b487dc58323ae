// A chart: lines or stacked areas over steps, with values under the pointer or the arrow keys, and a
// table of the same numbers. It is drawn at the width it has, so that text is never scaled.

const HEIGHT = 190;
const MARGIN = { top: 10, right: 12, bottom: 24, left: 46 };
const TABLE_ROWS = 120;

/** Charts that show where in time the pointer is, wherever it is. */
const charts = new Set();

/**
 * One chart. `spec` has `title`, `series` (`label`, `tone`, `line` of [step, value]), and may have
 * `stacked`, `calm` (a stack of moving averages), `plain` (no moving average), `notes` (sentences beside
 * it), `format`, and the ends `from` and `to` of the axis.
 */
class Chart {
  constructor(spec) {
    this.spec = spec;
    this.format = spec.format ?? figure;
    this.steps = [...new Set(spec.series.flatMap((it) => it.line.map(([step]) => step)))].sort((a, b) => a - b);
    this.byStep = spec.series.map((it) => new Map(it.line));
    this.at = null;
    this.svg = draw("svg", { role: "img", tabindex: 0, "aria-label": this.summary(), height: HEIGHT });
    this.tip = el("div", { class: "tip", hidden: true });
    this.figure = el("figure", { class: "chart", "data-chart": spec.title },
      el("figcaption", {}, spec.title), this.legend(),
      el("div", { class: "plot" }, this.svg, this.tip),
      (spec.notes ?? []).map((note) => el("p", { class: "note" }, note)), this.table());
    this.listen();
    charts.add(this);
    new ResizeObserver(() => this.draw()).observe(this.svg.parentNode);
  }

  legend() {
    const entries = this.spec.series.map(({ label, tone, line }) => {
      const last = line.at(-1)?.[1];
      return el("li", {}, el("span", { class: `key tone-${tone}` }), visible(label), " ",
        el("b", {}, last === undefined ? "" : this.format(last)));
    });
    return el("ul", { class: "legend", title: "With the value of the last step" }, entries);
  }

  summary() {
    const parts = this.spec.series.map(({ label, line }) => {
      const [first, last] = [line.at(0)?.[1], line.at(-1)?.[1]];
      return first === undefined ? label : `${label} from ${this.format(first)} to ${this.format(last)}`;
    });
    const steps = `${counted(this.steps.length, "step")}`;
    return `${this.spec.title}, ${steps}: ${parts.join("; ")}. Arrow keys move, Enter opens the step.`;
  }

  /** The same numbers, made when somebody asks for them. */
  table() {
    const details = el("details", { class: "numbers" }, el("summary", {}, "Numbers"));
    details.addEventListener("toggle", () => {
      if (!details.open || details.children.length > 1) return;
      const stride = Math.ceil(this.steps.length / TABLE_ROWS);
      const rows = this.steps.filter((_, at) => at % stride === 0 || at === this.steps.length - 1);
      const head = el("tr", {}, ["step", ...this.spec.series.map((it) => visible(it.label))].map((it) => el("th", { scope: "col" }, it)));
      const body = rows.map((step) => el("tr", {}, el("th", { scope: "row" }, step),
        this.byStep.map((values) => el("td", {}, values.has(step) ? this.format(values.get(step)) : "\u2013"))));
      details.append(el("div", { class: "scroll", tabindex: 0 },
        el("table", {}, el("caption", {}, this.spec.title), el("thead", {}, head), el("tbody", {}, body))));
    });
    return details;
  }

  draw() {
    const width = this.svg.parentNode.clientWidth;
    if (width === 0) return;
    this.width = width;
    adorn(this.svg, { width, viewBox: `0 0 ${width} ${HEIGHT}` });
    const stacks = this.spec.stacked ? this.stack() : null;
    const values = stacks ? stacks.at(-1).upper : this.spec.series.flatMap((it) => it.line.map(([, value]) => value));
    const [low, high] = span(values, this.spec);
    const [first, last] = [this.steps[0], this.steps.at(-1)];
    const inner = width - MARGIN.left - MARGIN.right;
    this.x = (step) => MARGIN.left + (last === first ? inner / 2 : (inner * (step - first)) / (last - first));
    const inside = HEIGHT - MARGIN.top - MARGIN.bottom;
    this.y = (value) => Math.max(MARGIN.top, HEIGHT - MARGIN.bottom - (inside * (value - low)) / (high - low));
    this.cursor = draw("line", { class: "cursor", y1: MARGIN.top, y2: HEIGHT - MARGIN.bottom, visibility: "hidden" });
    replace(this.svg, this.axes([low, high], [first, last]), stacks ? this.areas(stacks) : this.lines(), this.cursor);
    if (this.at !== null) this.point(this.at);
  }

  axes([low, high], [first, last]) {
    const across = ticks(low, high, 5).map((value) => [
      draw("line", { class: "grid", x1: MARGIN.left, x2: this.width - MARGIN.right, y1: this.y(value), y2: this.y(value) }),
      draw("text", { class: "tick", x: MARGIN.left - 7, y: this.y(value) + 4, "text-anchor": "end" }, this.format(value, true)),
    ]);
    const round = ticks(first, last, Math.max(2, Math.floor(this.width / 80))).filter(Number.isInteger);
    const far = round.filter((step) => this.x(step) - this.x(first) > 36);
    const along = [first, ...far]
      .map((step) => draw("text", { class: "tick", x: this.x(step), y: HEIGHT - 7, "text-anchor": "middle" }, step));
    return [across, along].flat(2);
  }

  lines() {
    return this.spec.series.flatMap(({ tone, line }) => {
      const calm = this.spec.plain ? null : smooth(line);
      const raw = draw("path", { class: `line tone-${tone}${calm ? " raw" : ""}`, d: path(line, this.x, this.y) });
      const dots = alone(line).map(([step, value]) => draw("circle", { class: `dot tone-${tone}`, cx: this.x(step), cy: this.y(value), r: 3 }));
      return [raw, calm && draw("path", { class: `line tone-${tone}`, d: path(calm, this.x, this.y) }), ...dots];
    });
  }

  stack() {
    let lower = this.steps.map(() => 0);
    return this.spec.series.map(({ line }, index) => {
      const values = this.spec.calm ? new Map(smooth(line) ?? line) : this.byStep[index];
      const upper = this.steps.map((step, at) => lower[at] + finite(values.get(step)));
      const layer = { lower, upper };
      lower = upper;
      return layer;
    });
  }

  areas(stacks) {
    return stacks.map(({ lower, upper }, at) =>
      draw("path", { class: `area tone-${this.spec.series[at].tone}`, d: area(this.steps, lower, upper, this.x, this.y) }));
  }

  listen() {
    this.svg.addEventListener("pointermove", (event) => {
      const inner = this.width - MARGIN.left - MARGIN.right;
      const share = (event.clientX - this.svg.getBoundingClientRect().left - MARGIN.left) / inner;
      const [first, last] = [this.steps[0], this.steps.at(-1)];
      this.show(nearest(this.steps, first + share * (last - first)));
    });
    this.svg.addEventListener("pointerleave", () => this.hide());
    this.svg.addEventListener("blur", () => this.hide());
    this.svg.addEventListener("click", () => this.open());
    this.svg.addEventListener("keydown", (event) => {
      const moves = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -Infinity, End: Infinity };
      if (event.key in moves) {
        const from = this.at ?? (moves[event.key] > 0 ? -1 : this.steps.length);
        this.show(Math.max(0, Math.min(this.steps.length - 1, from + moves[event.key])));
      } else if (event.key === "Enter") {
        this.open();
      } else {
        return;
      }
      event.preventDefault();
    });
  }

  open() {
    if (this.at !== null) openStep(this.steps[this.at]);
  }

  show(at) {
    this.at = at;
    const step = this.steps[at];
    for (const chart of charts) chart.mark(step);
    this.point(at);
  }

  point(at) {
    const step = this.steps[at];
    const isShown = (value) => value !== undefined && !(this.spec.stacked && value === 0);
    const rows = this.spec.series.map(({ label, tone }, index) => isShown(this.byStep[index].get(step)) &&
      el("div", {}, el("span", { class: `key tone-${tone}` }), visible(label), " ", el("b", {}, this.format(this.byStep[index].get(step)))));
    replace(this.tip, el("strong", {}, `Step ${step}`), this.spec.stacked ? rows.reverse() : rows);
    this.tip.hidden = false;
    const left = this.x(step);
    this.tip.classList.toggle("left", left > this.width / 2);
    this.tip.style.left = `${left}px`;
    this.svg.setAttribute("aria-label", this.tip.innerText.replaceAll("\n", ", "));
  }

  hide() {
    this.at = null;
    this.tip.hidden = true;
    this.svg.setAttribute("aria-label", this.summary());
    for (const chart of charts) chart.mark(null);
  }

  mark(step) {
    if (this.cursor === undefined) return;
    const seen = step !== null && step >= this.steps[0] && step <= this.steps.at(-1);
    adorn(this.cursor, { visibility: seen ? "visible" : "hidden" });
    if (seen) adorn(this.cursor, { x1: this.x(step), x2: this.x(step) });
  }
}

/** Rows of values with intervals, before and after: pass@k. */
function intervals(title, rows, notes) {
  const host = el("div", { class: "plot" });
  const high = Math.min(1, Math.max(...rows.flatMap((row) => row.marks.map((it) => it.high))) * 1.15);
  const height = 40 + rows.length * 56;
  const render = () => {
    const width = host.clientWidth;
    const x = (value) => 64 + ((width - 76) * value) / high;
    const svg = draw("svg", { role: "img", "aria-label": title, width, height, viewBox: `0 0 ${width} ${height}` });
    fill(svg, ticks(0, high, Math.max(2, Math.floor(width / 70))).map((value) => [
      draw("line", { class: "grid", x1: x(value), x2: x(value), y1: 6, y2: height - 24 }),
      draw("text", { class: "tick", x: x(value), y: height - 7, "text-anchor": "middle" }, `${Math.round(100 * value)} %`),
    ]).flat());
    rows.forEach((row, at) => {
      const middle = 36 + at * 56;
      svg.append(draw("text", { class: "row-name", x: 0, y: middle + 4 }, row.name));
      row.marks.forEach(({ value, low, high: top, tone }, index) => {
        const y = middle + (index === 0 ? -9 : 9);
        fill(svg, [draw("line", { class: `interval tone-${tone}`, x1: x(low), x2: x(top), y1: y, y2: y }),
          draw("circle", { class: `dot tone-${tone}`, cx: x(value), cy: y, r: 5 })]);
      });
    });
    replace(host, svg);
  };
  new ResizeObserver(render).observe(host);
  const points = (value) => (100 * value).toFixed(1);
  const cell = (it, sign = "") => el("td", {}, el("b", {}, `${sign}${points(it.value)}`), el("br"), el("span", { class: "quiet" }, `${points(it.low)} to ${points(it.high)}`));
  const table = el("table", { class: "figures", "aria-label": title },
    el("thead", {}, el("tr", {}, ["%", "before", "after", "difference"].map((it) => el("th", { scope: "col" }, it)))),
    el("tbody", {}, rows.map((row) => el("tr", {}, el("th", { scope: "row" }, row.name), row.marks.map((it) => cell(it)), cell(row.difference, row.difference.value > 0 ? "+" : "")))));
  const legend = el("ul", { class: "legend" }, [["before training", 7], ["after training", 1]].map(([label, tone]) => el("li", {}, el("span", { class: `key tone-${tone}` }), label)));
  return el("figure", { class: "chart", "data-chart": title }, el("figcaption", {}, title), legend, host,
    notes.map((note) => el("p", { class: "note" }, note)), el("div", { class: "scroll" }, table));
}
