// What is drawn from the feed: the head, tiles, pass@k, curves, settings and events.

const MAX_WARNINGS = 50;
const MAX_EVENTS = 400;

/** What was drawn last, so that what has not changed is left as it is. */
const drawn = { figures: null, charts: null };

function drawOverview() {
  const name = known.run?.name ?? "run";
  document.title = `${brief(name, 60)} \u00b7 run report`;
  refresh(byId("title"), brief(name, 80));
  refresh(byId("subtitle"), subtitle());
  refresh(byId("tiles"), tiles());
  refresh(byId("alarms"), alarms());
  refresh(byId("warnings"), warnings());
  refresh(byId("stages"), stages());
  drawEvaluation();
  drawCharts();
  refresh(byId("config"), visible(known.run?.config ?? ""));
  refresh(byId("events"), table(null, ["time (UTC)", "event", ""], events()));
}

/** A moment as people in one room would write it. */
function moment(time_ms, length) {
  return new Date(time_ms).toISOString().slice(0, length).replace("T", " ");
}

function subtitle() {
  const { started, first_ms: begun } = known;
  const parts = [begun !== null && `${moment(begun, 16)} UTC`, started && `whet ${brief(started.version, 60)}`];
  // A larger one would be shown rounded; the settings have it.
  if (started && Number.isSafeInteger(started.seed)) parts.push(`seed ${started.seed}`);
  return parts.filter(Boolean).join(" \u00b7 ");
}

function tile(label, value, detail) {
  return el("div", { class: "tile" },
    el("span", { class: "label" }, label),
    el("span", { class: "value" }, value),
    detail && el("span", { class: "detail" }, detail));
}

function tiles() {
  const steps = Math.max(0, ...[...known.metrics.values()].map((it) => it.size));
  const seen = [...known.rollouts.values()];
  const completions = sum(seen.map((it) => it.completions));
  const groups = counted(sum(seen.map((it) => it.groups)), "group");
  const lasted = (known.last_ms - known.first_ms) / 1000;
  return [
    betterTile(),
    measuredTile(),
    passTile(points("grpo/pass_rate").map(([, value]) => value)),
    codeTile(),
    stagesTile(),
    evaluationTiles(),
    (steps > 0 || !(known.stages || known.evaluation)) && tile("Steps", steps.toLocaleString("en"), saved()),
    completions > 0 && tile("Completions", completions.toLocaleString("en"), groups),
    lasted > 0 && tile("Time", duration(lasted), outcome()),
  ];
}

function stagesTile() {
  if (!known.stages) return null;
  const done = known.stages.filter((it) => it.state === "done").length;
  const begun = known.stages.find((it) => it.state === "begun");
  return tile("Stages done", `${done} of ${known.stages.length}`, begun && `begun: ${brief(begun.name, 60)}`);
}

function measuredTile() {
  const [first] = Object.entries(known.figures?.pass_at_k ?? {});
  if (!first) return null;
  const [k, { before, after }] = first;
  return tile(`pass@${k} on held-out tasks, T=${known.figures.temperature}`, percent(after.value),
    `${percent(before.value)} before training`);
}

/** A gain that a lower temperature alone would not bring. */
function betterTile() {
  const better = known.figures?.better_temperature;
  if (!better) return null;
  const { before, after, gain } = better;
  return tile("pass@1, better temperature of each side", `${percent(gain.after.value)} (${brief(after, 20)})`,
    `${percent(gain.before.value)} (${brief(before, 20)}) before training`);
}

function passTile(rates) {
  if (rates.length === 0) return null;
  const quarter = Math.ceil(rates.length / 4);
  const [first, last] = [rates.slice(0, quarter), rates.slice(-quarter)].map((it) => sum(it) / quarter);
  return tile("Pass rate in training", percent(last), `last quarter; ${percent(first)} in the first`);
}

/** Replies with code before and after, and how many of these pass: a gain of the former alone is format. */
function codeTile() {
  const found = heldOutCode() ?? trainingCode();
  if (!found) return null;
  const { where, first, last } = found;
  const passing = ({ code, pass }) => (code > 0 ? percent(pass / code) : "\u2013");
  return tile(`Replies with code${where}`, percent(last.code),
    `${percent(first.code)} at the start; of these pass ${passing(first)} then, ${passing(last)} now`);
}

function heldOutCode() {
  const [without, passes] = ["held_out/no_code", "held_out/pass_rate"].map(points);
  if (without.length === 0 || passes.length === 0) return null;
  const at = (place) => ({ code: 1 - without.at(place)[1], pass: passes.at(place)[1] });
  return { where: ", held-out tasks", first: at(0), last: at(-1) };
}

/** The first step alone, since code is learnt within a few; and the last quarter. */
function trainingCode() {
  const without = points("code/no_code");
  const passes = [points("grpo/pass_rate"), points("ppo/pass_rate")].find((it) => it.length > 0) ?? [];
  if (without.length === 0 || passes.length === 0) return null;
  const late = (it) => it.slice(-Math.ceil(it.length / 4));
  const mean = (it) => sum(it.map(([, value]) => value)) / it.length;
  return {
    where: " in training",
    first: { code: 1 - without[0][1], pass: passes[0][1] },
    last: { code: 1 - mean(late(without)), pass: mean(late(passes)) },
  };
}

function saved() {
  const { resumed, checkpoints } = known;
  const parts = [
    resumed.length > 0 && `resumed ${counted(resumed.length, "time")}`,
    checkpoints.length > 0 && counted(checkpoints.length, "checkpoint"),
  ];
  return parts.filter(Boolean).join(", ");
}

function outcome() {
  if (!known.finished) return "not finished";
  const { outcome: how, message } = known.finished;
  return message ? `${how}: ${brief(message, 60)}` : how;
}

function warnings() {
  const all = known.warnings;
  if (all.length === 0) return null;
  const items = all.slice(-MAX_WARNINGS).map((it) =>
    el("li", {}, el("code", {}, brief(it.code, 40)), " ", brief(it.message, 400)));
  return el("details", { class: "notice", open: all.length <= 3 },
    el("summary", {}, counted(all.length, "warning")), el("ul", {}, items));
}

/** The stages of a run over several of them, each with its main figures and a link to its own page. */
function stages() {
  if (!known.stages) return null;
  const rows = known.stages.map((stage) => {
    const name = brief(stage.name, 60);
    const time = stage.state === "waiting" ? "" : duration(stage.seconds);
    const inputs = stage.inputs.map(([what, from]) => `${words(what)} of ${brief(from, 60)}`).join(", ");
    return [stage.page ? el("a", { href: stage.page }, name) : name,
      brief(stage.kind, 20), stage.state, time, inputs, stage.figures.map(stageFigure).join(", ")];
  });
  const head = ["stage", "kind", "state", "time", "takes", "figures; 95 % intervals"];
  return el("section", { class: "chart" }, el("h3", {}, "Stages"),
    el("div", { class: "scroll" }, table(null, head, rows)));
}

function stageFigure({ name, value, interval }) {
  const range = interval ? ` [${figure(interval[0])}, ${figure(interval[1])}]` : "";
  return `${brief(name, 40)} ${figure(value)}${range}`;
}

function drawEvaluation() {
  const { figures, evaluation } = known;
  if (evaluation) refresh(byId("evaluation"), evaluationTables(evaluation));
  if (!figures || drawn.figures === figures) return;
  drawn.figures = figures;
  const at = `T=${figures.temperature}`;
  const rows = Object.entries(figures.pass_at_k).map(([k, pair]) => ({ name: `pass@${k}`, ...pair }));
  rows.push(...temperatureRows(figures, at));
  const tasks = counted(rows[0]?.before.tasks ?? 0, "task");
  const note = `${tasks} that training never saw, ${figures.samples} samples each at temperature ` +
    `${figures.temperature} or at the one named, one greedy; rows without k are pass@1, and "better" is each side at the ` +
    `better one. Lines are 95 % intervals over tasks; the difference has its own, from the same ` +
    "tasks in pairs.";
  replace(byId("evaluation"),
    rows.length > 0 && intervals("pass@k before and after", rows, note),
    verdictsBeforeAfter(figures), phases(figures.times.seconds));
}

/** pass@1 at the other temperatures, and at the better one of each side. */
function temperatureRows({ by_temperature: all, better_temperature: better }, own) {
  const rows = Object.entries(all).filter(([name]) => name !== own)
    .map(([name, pair]) => ({ name: brief(name, 12), ...pair }));
  return better ? [...rows, { name: "better", ...better.gain }] : rows;
}

function verdictsBeforeAfter({ before, after }) {
  const names = Object.keys(VERDICT_TONES).filter((it) => it in before.verdicts || it in after.verdicts);
  const rows = [["before", before.verdicts], ["after", after.verdicts]];
  return bars("Verdicts before and after", rows, names, verdictTone);
}

function phases(times) {
  const order = ["tasks", "traces", "before", "training", "after"];
  const others = Object.keys(times).filter((it) => !order.includes(it));
  const names = [...order.filter((it) => it in times), ...others];
  return bars("Phases of the run", [["seconds", times]], names, (name) => (names.indexOf(name) % 7) + 1);
}

function drawCharts() {
  const specs = chartSpecs();
  const text = JSON.stringify(specs.map((it) => [it.title, it.series]));
  if (drawn.charts === text) return;
  drawn.charts = text;
  for (const section of ["learning", "health", "speed", "other"]) {
    const figures = specs.filter((it) => it.section === section).map((spec) => chartOf(spec).figure);
    if (section === "other") figures.push(...unchanged());
    arrange(byId(`${section}-charts`), figures);
    hide(section, figures.length === 0);
  }
}

/** Puts figures into their place; one that is there already does not move, and keeps the focus. */
function arrange(host, figures) {
  const there = new Set(figures);
  for (const child of [...host.children]) {
    if (!there.has(child)) child.remove();
  }
  figures.forEach((figure, at) => {
    if (host.children[at] !== figure) host.insertBefore(figure, host.children[at] ?? null);
  });
}

function unchanged() {
  const rows = constants().map(([name, value]) => [brief(name, 60), figure(value)]);
  if (rows.length === 0) return [];
  return [el("section", { class: "chart" }, el("h3", {}, "The same in every step"), table(null, null, rows))];
}

/** Hides a section, and the way to it. */
function hide(section, isHidden) {
  byId(section).hidden = isHidden;
  const link = document.querySelector(`nav a[href="#${section}"]`);
  if (link) link.hidden = isHidden;
}

function events() {
  return known.events.slice(-MAX_EVENTS).map(({ type, time_ms: time, v: _version, ...rest }) =>
    [moment(time, 19), words(type), brief(JSON.stringify(rest), 400)]);
}
