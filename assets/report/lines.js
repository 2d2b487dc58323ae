// From what is known to the lines of charts.

/** Terms of rewards that have a line. */
const MAX_TERM_LINES = 8;

/** Causes of verdicts that have a line. */
const MAX_CAUSE_LINES = 8;

/** What each step's rollouts have under `key`, all names of it. */
function namesUnder(key) {
  return [...new Set([...known.rollouts.values()].flatMap((it) => Object.keys(it[key])))];
}

function verdictShares() {
  const seen = namesUnder("verdicts");
  return Object.keys(VERDICT_TONES).filter((it) => seen.includes(it)).map((verdict) => ({
    label: words(verdict),
    tone: verdictTone(verdict),
    line: rolloutPoints((it) => (it.verdicts[verdict] ?? 0) / it.completions),
  }));
}

/** Why replies had a verdict that is about their form. */
function causeShares() {
  return namesUnder("causes").sort().slice(0, MAX_CAUSE_LINES).map((cause, at) => ({
    label: words(cause),
    tone: at + 1,
    line: rolloutPoints((it) => (it.causes[cause] ?? 0) / it.completions),
  }));
}

function termMeans() {
  return namesUnder("terms").sort().slice(0, MAX_TERM_LINES).map((name, at) => ({
    label: brief(words(name), 40),
    tone: at + 1,
    line: rolloutPoints((it) => it.terms[name]),
  }));
}

function deadGroups() {
  const line = rolloutPoints((it) => (it.groups > 0 ? it.dead_groups / it.groups : null));
  return [{ label: "of the step's groups", tone: 2, line }];
}

/** `tokens` of a step: the shortest, a tenth, the half, nine tenths, the longest. */
function lengths() {
  const of = (label, tone, at) => ({ label, tone, line: rolloutPoints((it) => it.tokens?.[at]) });
  return [of("longest", 2, 4), of("nine of ten are shorter", 7, 3), of("one of ten is shorter", 7, 1)];
}

/** The end of an axis that a slow step does not flatten; a note says so. */
function withoutOutliers(series, notes) {
  const sums = new Map();
  for (const [step, value] of series.flatMap((it) => it.line)) sums.set(step, (sums.get(step) ?? 0) + value);
  const ordered = [...sums.values()].filter(Number.isFinite).sort((one, other) => one - other);
  const to = 2 * ordered[Math.floor(0.95 * (ordered.length - 1))];
  if (!(ordered.at(-1) > 2 * to)) return {};
  const beyond = counted(ordered.filter((it) => it > to).length, "step");
  notes.push(`${beyond} took longer than the axis, up to ${seconds(ordered.at(-1))}. Was the machine busy?`);
  return { to };
}

/** Whether a measurement has one value in all steps: a line that says nothing. */
function isConstant(name) {
  return new Set(known.metrics.get(name).values()).size === 1;
}

/** Measurements that the catalogue does not have, by name. */
function uncharted() {
  const used = new Set(CATALOGUE.flatMap((entry) => entry.series.map(([name]) => name)));
  const isDrawn = (name) => used.has(name) || NOT_DRAWN.has(name) || TERM_METRICS.some((prefix) => name.startsWith(prefix));
  return [...known.metrics.keys()].filter((name) => !isDrawn(name)).sort();
}

/** Those of them that never change, as name and value. */
function constants() {
  return uncharted().filter(isConstant).map((name) => [name, known.metrics.get(name).values().next().value]);
}

/** A chart of the catalogue with its lines and the notes that apply. */
function specOf(entry) {
  const has = (name) => known.metrics.has(name);
  const zero = (name) => has(name) && [...known.metrics.get(name).values()].every((it) => it === 0);
  const named = entry.series.map(([name, label, tone]) => ({ label, tone, line: points(name) }));
  const all = [...named, ...(entry.rollouts?.() ?? [])].filter((it) => it.line.length > 0);
  const series = all.filter((it) => it.label !== KL_LOSS || it.line.some(([, value]) => value !== 0));
  const notes = entry.notes.map((it) => (typeof it === "function" ? it(has, zero) : it)).filter(Boolean);
  const broken = series.filter((it) => it.line.some(([, value]) => !Number.isFinite(value)));
  if (broken.length > 0) {
    notes.unshift(`Not a number in some steps, where the curve breaks: ${broken.map((it) => it.label).join(", ")}.`);
  }
  return { ...entry, series, notes, ...(entry.robust ? withoutOutliers(series, notes) : {}) };
}

/** The charts of the catalogue that have data, and a small one for every other measurement. */
function chartSpecs() {
  const others = uncharted().filter((name) => !isConstant(name)).map((name) => ({
    section: "other",
    name,
    title: brief(name, 60),
    series: [{ label: "value", tone: 1, line: points(name) }],
  }));
  return [...CATALOGUE.map(specOf), ...others].filter((spec) => spec.series.length > 0);
}
