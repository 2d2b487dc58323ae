// What is drawn from the feed: the head, tiles, pass@k, curves, settings and events.

/** Which numbers a chart was drawn from last; an unchanged one is left as it is. */
const drawn = new Map();

function drawOverview() {
  const name = known.run?.name ?? "run";
  document.title = `${brief(name, 60)} \u00b7 run report`;
  replace(byId("title"), brief(name, 80));
  replace(byId("subtitle"), subtitle());
  replace(byId("tiles"), tiles());
  drawWarnings();
  drawEvaluation();
  drawCharts();
  replace(byId("config"), visible(known.run?.config ?? ""));
  drawEvents();
}

function subtitle() {
  const parts = [];
  if (known.first_ms !== null) parts.push(new Date(known.first_ms).toISOString().slice(0, 16).replace("T", " ") + " UTC");
  if (known.started) parts.push(`whet ${brief(known.started.version, 20)}`, `seed ${known.started.seed}`);
  return parts.join(" \u00b7 ");
}

function tile(label, value, detail) {
  return el("div", { class: "tile" }, el("span", { class: "label" }, label), el("span", { class: "value" }, value),
    detail && el("span", { class: "detail" }, detail));
}

function tiles() {
  const steps = Math.max(0, ...[...known.metrics.values()].map((it) => it.size));
  const seen = [...known.rollouts.values()];
  const completions = seen.reduce((sum, it) => sum + it.completions, 0);
  const passes = points("grpo/pass_rate").map(([, value]) => value);
  const quarter = Math.ceil(passes.length / 4);
  const mean = (list) => list.reduce((sum, it) => sum + it, 0) / list.length;
  const first = known.figures && Object.entries(known.figures.pass_at_k)[0];
  return [
    first && tile(`pass@${first[0]} on held-out tasks`, percent(first[1].after.value), `${percent(first[1].before.value)} before training`),
    passes.length > 0 && tile("Pass rate in training", percent(mean(passes.slice(-quarter))), `last quarter; ${percent(mean(passes.slice(0, quarter)))} in the first`),
    tile("Steps", steps.toLocaleString("en"), resumed()),
    completions > 0 && tile("Completions", completions.toLocaleString("en"), `${counted(seen.reduce((sum, it) => sum + it.groups, 0), "group")}`),
    known.last_ms > known.first_ms && tile("Time", duration((known.last_ms - known.first_ms) / 1000), outcome()),
  ];
}

function resumed() {
  const { resumed: list, checkpoints } = known;
  const saved = checkpoints.length > 0 ? counted(checkpoints.length, "checkpoint") : null;
  return [list.length > 0 ? `resumed ${counted(list.length, "time")}` : null, saved].filter(Boolean).join(", ");
}

function outcome() {
  if (!known.finished) return "not finished";
  const message = known.finished.message ? `: ${brief(known.finished.message, 60)}` : "";
  return `${known.finished.outcome}${message}`;
}

function drawWarnings() {
  const { warnings } = known;
  const items = warnings.slice(-50).map((it) => el("li", {}, el("code", {}, brief(it.code, 40)), " ", brief(it.message, 400)));
  replace(byId("warnings"), warnings.length > 0 && el("details", { class: "notice", open: warnings.length <= 3 },
    el("summary", {}, counted(warnings.length, "warning")), el("ul", {}, items)));
}

function drawEvaluation() {
  const { figures } = known;
  if (!figures || drawn.get("evaluation") === figures) return;
  drawn.set("evaluation", figures);
  const rows = Object.entries(figures.pass_at_k).map(([k, { before, after, difference }]) => ({
    name: `pass@${k}`, marks: [{ ...before, tone: 7 }, { ...after, tone: 1 }], difference,
  }));
  const tasks = Object.values(figures.pass_at_k)[0]?.before.tasks ?? 0;
  const note = `${counted(tasks, "task")} that training never saw, ${figures.samples} samples each at temperature ${figures.temperature}. Lines are 95 % intervals over tasks; the difference has its own, from the same tasks in pairs.`;
  replace(byId("evaluation"), rows.length > 0 && intervals("pass@k before and after", rows, [note]), verdictsBeforeAfter(figures), phases(figures));
}

function verdictsBeforeAfter({ before, after }) {
  const names = Object.keys(VERDICT_TONES).filter((it) => it in before.verdicts || it in after.verdicts);
  return bars("Verdicts before and after", [["before", before.verdicts], ["after", after.verdicts]], (name) => `v-${verdictTone(name)}`, names);
}

function phases({ times }) {
  const order = ["tasks", "traces", "before", "training", "after"];
  const names = [...order.filter((it) => it in times.seconds), ...Object.keys(times.seconds).filter((it) => !order.includes(it))];
  return bars("Phases of the run", [["seconds", times.seconds]], (name) => (names.indexOf(name) % 7) + 1, names);
}

/** Rows that are each divided into named parts. */
function bars(title, rows, tone, names) {
  const parts = rows.map(([row, values]) => {
    const all = names.reduce((sum, name) => sum + (values[name] ?? 0), 0);
    const pieces = names.map((name) => {
      const piece = el("span", { class: `piece tone-${tone(name)}`, title: `${words(name)}: ${figure(values[name] ?? 0)}` });
      piece.style.flexGrow = (values[name] ?? 0) / (all || 1);
      return piece;
    });
    return [el("div", { class: "bar-name" }, row), el("div", { class: "bar", "aria-hidden": "true" }, pieces)];
  });
  const head = el("tr", {}, ["", ...rows.map(([row]) => row)].map((it) => el("th", { scope: "col" }, it)));
  const body = names.map((name) => el("tr", {}, el("th", { scope: "row" }, el("span", { class: `key tone-${tone(name)}` }), visible(words(name))),
    rows.map(([, values]) => el("td", {}, figure(values[name] ?? 0)))));
  return el("figure", { class: "chart", "data-chart": title }, el("figcaption", {}, title), el("div", { class: "bars" }, parts),
    el("div", { class: "scroll" }, el("table", { class: "plain" }, el("thead", {}, head), el("tbody", {}, body))));
}

function drawCharts() {
  const hosts = { learning: byId("learning-charts"), health: byId("health-charts"), speed: byId("speed-charts"), other: byId("other-charts") };
  const specs = chartSpecs();
  const text = JSON.stringify(specs.map((it) => [it.title, it.series]));
  if (drawn.get("charts") === text) return;
  drawn.set("charts", text);
  charts.clear();
  for (const host of Object.values(hosts)) host.replaceChildren();
  for (const spec of specs) hosts[spec.section].append(new Chart(spec).figure);
  const same = constants();
  if (same.length > 0) hosts.other.append(unchanged(same));
  for (const [section, host] of Object.entries(hosts)) byId(section === "other" ? "others" : section).hidden = host.children.length === 0;
}

function unchanged(same) {
  const rows = same.map(([name, value]) => el("tr", {}, el("th", { scope: "row" }, brief(name, 60)), el("td", {}, figure(value))));
  return el("section", { class: "chart" }, el("h3", {}, "The same in every step"), el("table", {}, el("tbody", {}, rows)));
}

function drawEvents() {
  const rows = known.events.slice(-400).map((event) => {
    const { type, time_ms: time, v: _version, ...rest } = event;
    return el("tr", {}, el("th", { scope: "row" }, new Date(time).toISOString().slice(0, 19).replace("T", " ")), el("td", {}, words(type)), el("td", {}, brief(JSON.stringify(rest), 400)));
  });
  replace(byId("events"), el("tbody", {}, rows));
}
