// A chart: lines or stacked areas over steps, with values under the pointer or the arrow keys, and a
// table of the same numbers. It is drawn at the width it has, so that text is never scaled.

const HEIGHT = 190;
const MARGIN = { top: 10, right: 12, bottom: 24, left: 46 };
/** The width of a digit beside the axis, in any of the fonts of the page. */
const DIGIT = 7.4;
const TABLE_ROWS = 120;

/** Charts by section and name; they show where in time the pointer is, wherever it is. */
const charts = new Map();

/** The chart of a spec, as it is now. */
function chartOf(spec) {
  const name = `${spec.section} ${spec.name ?? spec.title}`;
  if (charts.has(name)) charts.get(name).update(spec);
  else charts.set(name, new Chart(spec));
  return charts.get(name);
}

/**
 * One chart. `spec` has `section`, `title`, `series` (`label`, `tone`, `line` of [step, value]), and may have
 * `stacked`, `calm` (a stack of moving averages), `plain` (no moving average), `notes` (sentences beside
 * it), `format`, and the ends `from` and `to` of the axis.
 */
class Chart {
  constructor(spec) {
    /** The place of the step that is pointed at. */
    this.at = null;
    this.take(spec);
    this.svg = draw("svg", { role: "img", tabindex: 0, "aria-label": this.summary(), height: HEIGHT });
    this.tip = el("div", { class: "tip", role: "status", hidden: true });
    this.legend = el("ul", { class: "legend", title: "With the value of the last step" }, this.entries());
    this.numbers = this.numbersWhenAsked();
    this.figure = el("figure", { class: "chart", "data-chart": spec.title },
      el("figcaption", {}, spec.title),
      this.legend,
      el("div", { class: "plot" }, this.svg, this.tip),
      this.notes(),
      this.numbers);
    this.listen();
    new ResizeObserver(() => this.draw()).observe(this.svg.parentNode);
  }

  take(spec) {
    this.spec = spec;
    this.format = spec.format ?? figure;
    const steps = spec.series.flatMap((it) => it.line.map(([step]) => step));
    this.steps = [...new Set(steps)].sort((one, other) => one - other);
    this.byStep = spec.series.map((it) => new Map(it.line));
  }

  /** Shows other values of the same metrics, and keeps what the user points at or has opened. */
  update(spec) {
    const pointed = this.at === null ? null : this.steps[this.at];
    this.take(spec);
    this.at = pointed === null ? null : nearest(this.steps, pointed);
    adorn(this.svg, { "aria-label": this.summary() });
    refresh(this.legend, this.entries());
    for (const note of this.figure.querySelectorAll(":scope > .note")) note.remove();
    this.numbers.before(...this.notes());
    const shown = this.numbers.querySelector(".scroll");
    if (shown) refresh(shown, this.table());
    this.draw();
  }

  entries() {
    return this.spec.series.map(({ label, tone, line }) =>
      el("li", {}, key(tone), visible(label), " ", el("b", {}, this.format(line.at(-1)[1]))));
  }

  notes() {
    return (this.spec.notes ?? []).map((note) => el("p", { class: "note" }, note));
  }

  summary() {
    const parts = this.spec.series.map(({ label, line }) =>
      `${label} from ${this.format(line[0][1])} to ${this.format(line.at(-1)[1])}`);
    const steps = counted(this.steps.length, "step");
    return `${this.spec.title}, ${steps}: ${parts.join("; ")}. Arrow keys move, Enter opens the step.`;
  }

  /** The same numbers as a table, made on request. */
  numbersWhenAsked() {
    const details = el("details", { class: "numbers" }, el("summary", {}, "Numbers"));
    details.addEventListener("toggle", () => {
      if (!details.open || details.children.length > 1) return;
      details.append(el("div", { class: "scroll", tabindex: 0 }, this.table()));
    });
    return details;
  }

  table() {
    const stride = Math.ceil(this.steps.length / TABLE_ROWS);
    const steps = this.steps.filter((_, at) => at % stride === 0 || at === this.steps.length - 1);
    const cell = (values, step) => (values.has(step) ? this.format(values.get(step)) : "\u2013");
    const rows = steps.map((step) => [step, ...this.byStep.map((values) => cell(values, step))]);
    const head = ["step", ...this.spec.series.map((it) => visible(it.label))];
    return table(this.spec.title, head, rows);
  }

  draw() {
    this.width = this.svg.parentNode.clientWidth;
    if (this.width === 0) return;
    adorn(this.svg, { width: this.width, viewBox: `0 0 ${this.width} ${HEIGHT}` });
    const stacks = this.spec.stacked ? this.stack() : null;
    const lines = this.spec.series.flatMap((it) => it.line.map(([, value]) => value));
    const [low, high] = span(stacks ? stacks.at(-1).upper : lines, this.spec);
    const [first, last] = [this.steps[0], this.steps.at(-1)];
    const longest = Math.max(0, ...ticks(low, high, 5).map((value) => this.format(value, true).length));
    this.left = Math.max(MARGIN.left, 10 + DIGIT * longest);
    const across = this.width - this.left - MARGIN.right;
    const down = HEIGHT - MARGIN.top - MARGIN.bottom;
    const part = (step) => (last === first ? 0.5 : (step - first) / (last - first));
    this.x = (step) => this.left + across * part(step);
    this.y = (value) => Math.max(MARGIN.top, MARGIN.top + down * (1 - (value - low) / (high - low)));
    this.cursor = draw("line", {
      class: "cursor", y1: MARGIN.top, y2: HEIGHT - MARGIN.bottom, visibility: "hidden",
    });
    const shapes = stacks ? this.areas(stacks) : this.lines();
    replace(this.svg, this.values(low, high), this.stepNames(first, last), shapes, this.cursor);
    if (this.at !== null) this.point(this.at);
  }

  values(low, high) {
    return ticks(low, high, 5).map((value) => {
      const y = this.y(value);
      return [
        draw("line", { class: "grid", x1: this.left, x2: this.width - MARGIN.right, y1: y, y2: y }),
        tick(this.left - 7, y + 4, this.format(value, true), "end"),
      ];
    });
  }

  stepNames(first, last) {
    const round = ticks(first, last, Math.max(2, Math.floor(this.width / 80))).filter(Number.isInteger);
    const far = round.filter((step) => this.x(step) - this.x(first) > 36);
    return [first, ...far].map((step) => tick(this.x(step), HEIGHT - 7, step, "middle"));
  }

  lines() {
    return this.spec.series.map(({ tone, line }) => {
      const calm = this.spec.plain ? null : smooth(line);
      const raw = `line tone-${tone}${calm ? " raw" : ""}`;
      return [
        draw("path", { class: raw, d: path(line, this.x, this.y) }),
        calm && draw("path", { class: `line tone-${tone}`, d: path(calm, this.x, this.y) }),
        alone(line).map(([step, value]) => dot(this.x(step), this.y(value), 3, tone)),
      ];
    });
  }

  /** For each series the lower and the upper end of its layer. */
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
    return stacks.map(({ lower, upper }, at) => {
      const outline = area(this.steps, lower, upper, this.x, this.y);
      return draw("path", { class: `area tone-${this.spec.series[at].tone}`, d: outline });
    });
  }

  listen() {
    this.svg.addEventListener("pointermove", (event) => {
      const across = this.width - this.left - MARGIN.right;
      const share = (event.clientX - this.svg.getBoundingClientRect().left - this.left) / across;
      const [first, last] = [this.steps[0], this.steps.at(-1)];
      this.show(nearest(this.steps, first + share * (last - first)));
    });
    this.svg.addEventListener("pointerleave", () => this.hide());
    this.svg.addEventListener("blur", () => this.hide());
    this.svg.addEventListener("click", () => this.open());
    this.svg.addEventListener("keydown", (event) => this.press(event));
  }

  press(event) {
    const moves = {
      ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -Infinity, End: Infinity,
    };
    const last = this.steps.length - 1;
    if (event.key in moves) {
      const from = this.at ?? (moves[event.key] > 0 ? -1 : last + 1);
      this.show(Math.max(0, Math.min(last, from + moves[event.key])));
    } else if (event.key === "Enter") {
      this.open();
    } else {
      return;
    }
    event.preventDefault();
  }

  open() {
    if (this.at !== null) openStep(this.steps[this.at]);
  }

  show(at) {
    this.at = at;
    for (const chart of charts.values()) chart.mark(this.steps[at]);
    this.point(at);
  }

  /** Says the values of a step beside its place. */
  point(at) {
    const step = this.steps[at];
    const isShown = (value) => value !== undefined && !(this.spec.stacked && value === 0);
    const rows = this.spec.series.map(({ label, tone }, index) => {
      const value = this.byStep[index].get(step);
      return isShown(value) && el("div", {}, key(tone), visible(label), " ", el("b", {}, this.format(value)));
    });
    replace(this.tip, el("strong", {}, `Step ${step}`), this.spec.stacked ? rows.reverse() : rows);
    this.tip.hidden = false;
    this.tip.classList.toggle("left", this.x(step) > this.width / 2);
    this.tip.style.left = `${this.x(step)}px`;
  }

  hide() {
    this.at = null;
    this.tip.hidden = true;
    for (const chart of charts.values()) chart.mark(null);
  }

  mark(step) {
    if (this.cursor === undefined) return;
    const seen = step !== null && step >= this.steps[0] && step <= this.steps.at(-1);
    adorn(this.cursor, { visibility: seen ? "visible" : "hidden" });
    if (seen) adorn(this.cursor, { x1: this.x(step), x2: this.x(step) });
  }
}
