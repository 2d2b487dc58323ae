// The figures of an evaluation: pass@k, episodes, and both by source and difficulty.

/** Facts of environments whose name alone says too little. */
const FACT_LABELS = { invalid: "invalid actions", iis_size: "IIS size", unknown_api_rate: "unknown API rate" };
/** Means of a part whose episodes have one turn. */
const SINGLE_TURN_MEANS = 5;

function evaluationTiles() {
  const { evaluation } = known;
  if (!evaluation) return null;
  const [k, pass] = Object.entries(evaluation.pass_at_k)[0] ?? [];
  const { completions, tasks, episodes } = evaluation;
  const within = Object.entries(episodes?.solved_within ?? {});
  const [first, last] = [within[0], within.at(-1)];
  return [
    pass && tile(`pass@${k}`, percent(pass.value), range(pass, percent)),
    last && tile(`Solved within ${counted(Number(last[0]), "turn")}`, percent(last[1].value),
      `${percent(first[1].value)} within ${counted(Number(first[0]), "turn")}`),
    tile("Samples", completions.toLocaleString("en"), counted(tasks, "task")),
  ];
}

function range({ low, high }, format) {
  return `[${format(low)}, ${format(high)}]`;
}

/** One table for the suite, and one for each way to divide it. */
function evaluationTables(evaluation) {
  const { model, by_source: sources, by_difficulty: difficulties, greedy } = evaluation;
  const of = counted(evaluation.num_samples, "sample");
  const note = `${brief(model, 80)}: ${of} of each task; 95 % intervals over tasks.` +
    (greedy ? " Below, step 0 has the samples and step 1 the greedy ones." : "") +
    (Object.keys(evaluation.by_temperature).length > 0 ? " Further temperatures are steps 2 and on." : "");
  const rows = figureRows(evaluation).map(([name, it, format]) =>
    [name, format(it.value), range(it, format), it.tasks]);
  return [
    el("section", { class: "chart", "data-table": "Results" }, el("h3", {}, "Results"),
      el("div", { class: "scroll" }, table(null, ["", "mean over tasks", "interval", "tasks"], rows)),
      el("p", { class: "note" }, note)),
    causeTable(evaluation),
    partTable("By source", sources),
    partTable("By difficulty", difficulties),
  ];
}

/** Why samples have no program, or one that does not load, the most frequent cause first. */
function causeTable({ causes, greedy_causes: greedy }) {
  const rows = new Map();
  [causes, greedy].forEach((counts, column) => {
    for (const [verdict, named] of Object.entries(counts)) {
      for (const [cause, count] of Object.entries(named)) {
        const name = brief(`${words(verdict)}: ${words(cause)}`, 60);
        if (!rows.has(name)) rows.set(name, [name, 0, 0]);
        rows.get(name)[column + 1] = count;
      }
    }
  });
  if (rows.size === 0) return null;
  const sorted = [...rows.values()].sort((one, other) => other[1] - one[1] || other[2] - one[2]);
  return el("section", { class: "chart", "data-table": "Causes" }, el("h3", {}, "Causes"),
    el("div", { class: "scroll" }, table(null, ["", "samples", "greedy"], sorted)));
}

/** The figures of a suite: [label, figure, format]. */
function figureRows(evaluation) {
  const { pass_at_k: passes, greedy, code, greedy_code: greedyCode, baseline_prompts: prompts, episodes } = evaluation;
  const rows = Object.entries(passes).map(([k, it]) => [`pass@${k}`, it, percent]);
  if (greedy) rows.push(["greedy", greedy, percent]);
  for (const [decoding, it] of Object.entries(evaluation.by_temperature)) {
    for (const [k, pass] of Object.entries(it.pass_at_k)) rows.push([`pass@${k}, ${brief(decoding, 20)}`, pass, percent]);
  }
  rows.push(...(prompts ?? []).map((it) => [`greedy with ${brief(it.prompt, 40)}`, it.greedy, percent]));
  rows.push(...codeRows("", code), ...codeRows("greedy, ", greedyCode));
  if (!episodes) return rows;
  for (const [k, it] of Object.entries(episodes.solved_within)) {
    rows.push([`solved within ${counted(Number(k), "turn")}`, it, percent]);
  }
  return rows.concat(meanNames(episodes).map((name) => [factLabel(name), episodes.means[name], figure]), rewardRows(evaluation));
}

/** The mean reward greedily and at further temperatures. */
function rewardRows({ greedy_episodes: greedy, by_temperature: further }) {
  const all = [["greedy", greedy], ...Object.entries(further).map(([name, it]) => [brief(name, 20), it.episodes])];
  return all.filter(([, it]) => it?.means.reward).map(([name, it]) => [`reward, ${name}`, it.means.reward, figure]);
}

/** Replies with code and those of them that pass; results from before they were counted have none. */
function codeRows(prefix, code) {
  if (!code) return [];
  const { code_rate: rate, pass_given_code: passes } = code;
  const rows = [[`${prefix}replies with code`, rate, percent]];
  return passes ? [...rows, [`${prefix}pass@1 of these`, passes, percent]] : rows;
}

/** Reward and turns first, then the facts of the environment; not the turns of episodes that all have one. */
function meanNames({ means, max_turns: turns }) {
  const names = Object.keys(means).filter((name) => name !== "turns" || turns > 1);
  return names.sort((one, other) => place(one) - place(other));
}

function place(name) {
  const at = ["reward", "turns"].indexOf(name);
  return at < 0 ? 2 : at;
}

function factLabel(name) {
  const fact = name.split("/").at(-1);
  return brief(FACT_LABELS[fact] ?? words(fact), 40);
}

/** Parts of a suite with what tells most of them, if there are several. */
function partTable(title, parts) {
  const named = Object.entries(parts);
  if (named.length < 2) return null;
  const cell = (it, format) => (it ? `${format(it.value)} ${range(it, format)}` : "\u2013");
  const columns = partColumns(named.map(([, part]) => part.episodes).filter(Boolean));
  const rows = named.map(([name, { tasks, pass_at_k: passes, episodes }]) => {
    const within = Object.values(episodes?.solved_within ?? {}).at(-1);
    const pass = within ?? Object.values(passes)[0];
    const means = columns.map((mean) => cell(episodes?.means[mean], figure));
    return [brief(name, 40), tasks, cell(pass, percent), means].flat();
  });
  return el("section", { class: "chart", "data-table": title }, el("h3", {}, title),
    el("div", { class: "scroll" }, table(null, ["", "tasks", "solved", ...columns.map(factLabel)], rows)));
}

/** The means that the parts of a suite show: reward and turns, or where all have one turn, facts. */
function partColumns(parts) {
  const max_turns = Math.max(1, ...parts.map((it) => it.max_turns));
  const names = meanNames({ means: Object.assign({}, ...parts.map((it) => it.means)), max_turns });
  return names.slice(0, max_turns > 1 ? 2 : SINGLE_TURN_MEANS);
}
