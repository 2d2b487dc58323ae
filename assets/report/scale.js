// From numbers to places: ticks, moving averages, paths.

/** About `count` round numbers between `low` and `high`. */
function ticks(low, high, count) {
  const span = high - low;
  if (!(span > 0)) return [low];
  const rough = span / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((it) => it * power).find((it) => it >= rough);
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  const round = (at) => Number(((first + at) * step).toPrecision(12));
  return Array.from({ length: last - first + 1 }, (_, at) => round(at));
}

/** What an axis spans: the values, some air, and 0 where values are near it. */
function span(values, { from, to } = {}) {
  let low = from ?? Infinity;
  let high = to ?? -Infinity;
  for (const value of values) {
    if (!Number.isFinite(value)) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  if (low > high) return [0, 1];
  if (low > 0 && low < 0.4 * high) low = 0;
  if (low === high) return low === 0 ? [0, 1] : [Math.min(0, low), Math.max(0, high)];
  const air = 0.06 * (high - low);
  return [from ?? (low === 0 ? 0 : low - air), to ?? high + air];
}

/** Points with each value replaced by the mean of those around it; NaN stays NaN. */
function smooth(line) {
  const reach = Math.floor(line.length / 24);
  if (reach < 1) return null;
  return line.map(([step, value], at) => {
    if (!Number.isFinite(value)) return [step, NaN];
    const around = line.slice(Math.max(0, at - reach), at + reach + 1);
    const near = around.map(([, it]) => it).filter(Number.isFinite);
    return [step, sum(near) / near.length];
  });
}

/** A path through points; it breaks where a value is not a number. */
function path(line, x, y) {
  let text = "";
  let open = false;
  for (const [step, value] of line) {
    if (Number.isFinite(value)) {
      text += `${open ? "L" : "M"}${x(step).toFixed(1)} ${y(value).toFixed(1)}`;
      open = true;
    } else {
      open = false;
    }
  }
  return text;
}

/** Points without a neighbour, which a path does not show. */
function alone(line) {
  const is = (at) => Number.isFinite(line[at]?.[1]);
  return line.filter((_, at) => is(at) && !is(at - 1) && !is(at + 1));
}

function sum(values) {
  return values.reduce((all, it) => all + it, 0);
}

/** A number to add up; anything else counts as 0. */
function finite(value) {
  return Number.isFinite(value) ? value : 0;
}

/** The area between two lines over the same steps. */
function area(steps, lower, upper, x, y) {
  const there = steps.map((step, at) => `${x(step).toFixed(1)} ${y(upper[at]).toFixed(1)}`);
  const back = steps.map((step, at) => `${x(step).toFixed(1)} ${y(lower[at]).toFixed(1)}`).reverse();
  return `M${there.join("L")}L${back.join("L")}Z`;
}

/** The place of the step nearest to `step` in a sorted list. */
function nearest(steps, step) {
  let best = 0;
  steps.forEach((it, at) => {
    if (Math.abs(it - step) < Math.abs(steps[best] - step)) best = at;
  });
  return best;
}
