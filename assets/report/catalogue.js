// Which charts there are, from which measurements, and what to say beside a curve that raises questions.

/** The part of the loss that is left out where it is 0 throughout. */
const NO_KL = "KL";

/** `series` names metrics, `rollouts` makes lines from the steps' rollouts; a note may depend on the values. */
const CATALOGUE = [
  { section: "learning", title: "Reward", series: [["grpo/mean_reward", "mean reward", 1], ["grpo/reward_std", "spread (standard deviation)", 7]],
    notes: ["What the judge pays, on average over the step's completions. Steps have different tasks, so single steps jump: follow the thick line."] },
  { section: "learning", title: "Pass rate", format: share, from: 0, series: [["grpo/pass_rate", "all tests pass", 3], ["code/avg_test_pass_rate", "tests passed", 1], ["code/syntax_success_rate", "parses", 5]],
    notes: ["Of tasks in training. Whether it carries over to tasks that were never trained on is what pass@k on held-out tasks says."] },
  { section: "learning", title: "Verdicts", stacked: true, calm: true, format: share, from: 0, to: 1, rollouts: verdictShares,
    notes: ["What the judge said of the programs. The areas are moving averages; point at them for the steps themselves."] },
  { section: "learning", title: "Reward by term", rollouts: termMeans,
    notes: ["What each term adds to the reward, weight included, before gates cap the total."] },
  { section: "learning", title: "Dead groups", format: share, from: 0, rollouts: deadGroups,
    notes: ["In a dead group every sample has the same reward, so every advantage is 0 and GRPO learns nothing from it. Many of them: the tasks are too hard or too easy, or the samples too alike."] },
  { section: "learning", title: "Lengths", rollouts: lengths, series: [["rollout/mean_tokens", "mean", 1]],
    notes: ["Tokens of a completion. Growing lengths without growing reward are a warning sign."] },
  { section: "learning", title: "Cut off by the token limit", format: share, from: 0, series: [["rollout/truncated", "cut off", 4]],
    notes: ["A completion that is cut off rarely has a whole program. If this grows, raise the limit or look at the lengths."] },
  { section: "health", title: "Loss", series: [["grpo/policy_loss", "policy", 1], ["grpo/kl_loss", NO_KL, 2], ["teacher_sft/loss", "teacher's traces", 3], ["self_sft/loss", "own best answers", 4], ["sft/loss", "traces", 3]],
    notes: [(has) => has("grpo/policy_loss") && "The policy loss is near 0 because the advantages of a group sum to 0. It says nothing about progress: look at reward and KL.",
      (has) => (has("teacher_sft/loss") || has("self_sft/loss") || has("sft/loss")) && "Losses on traces are the surprise of their tokens, in nats: they should fall."] },
  { section: "health", title: "KL divergence", series: [["grpo/kl_divergence", "from the reference", 1], ["grpo/update_kl", "of the update", 2]],
    notes: [(has) => has("grpo/kl_divergence") && "How far the student has moved from where it began, in nats a token. A sudden rise with flat reward is drift.",
      (has) => !has("grpo/kl_divergence") && "This run has no reference, so the distance from where it began was not measured.",
      (has, zero) => zero("grpo/update_kl") && "The update's KL is 0 because each batch is used for one update: what learns is still what sampled."] },
  { section: "health", title: "Entropy", from: 0, series: [["grpo/entropy", "nats a token", 1]],
    notes: ["How undecided the student is. It falls while it learns; close to 0 the samples of a group are all alike, and groups die."] },
  { section: "health", title: "Clip fraction", format: share, from: 0, series: [["grpo/clip_fraction", "tokens clipped", 2]],
    notes: [(has, zero) => zero("grpo/clip_fraction") ? "0 throughout: each batch is used for one update, so no ratio has moved yet and nothing is clipped."
      : "Tokens whose ratio left the trust region. Much above 20 % means that updates are too large."] },
  { section: "health", title: "Gradient norms by source", from: 0, series: [["train/grad_norm", "all together", 7], ["grpo/grad_norm", "rollouts", 1], ["teacher_sft/grad_norm", "teacher's traces", 3], ["self_sft/grad_norm", "own best answers", 4], ["sft/grad_norm", "traces", 3]],
    notes: ["Before clipping, each with its weight. A source that dwarfs the others decides the update alone."] },
  { section: "health", title: "Angle to the rollouts' gradient", series: [["teacher_sft/cosine", "teacher's traces", 3], ["self_sft/cosine", "own best answers", 4]],
    notes: ["Cosine: 1 pulls the same way, 0 another way, below 0 against each other."] },
  { section: "health", title: "Sampler and trainer", from: 0, series: [["grpo/sampler_gap", "largest difference of a log-prob", 2]],
    notes: ["Both compute with the same code, so this is rounding, around 1e-5. Anything larger is a defect."] },
  { section: "health", title: "Learning rate", plain: true, from: 0, series: [["train/lr", "learning rate", 7], ["sft/lr", "learning rate", 7]] },
  { section: "speed", title: "Phases of a step", stacked: true, robust: true, format: seconds, from: 0, series: [["time/sampling_s", "sampling (and judging meanwhile)", 1], ["time/judging_after_sampling_s", "waiting for the judge", 2], ["time/reference_s", "reference", 4], ["time/learning_s", "learning", 3]],
    notes: ["Seconds of each step. Programs are judged while others are sampled; only what is left when sampling ends is waited for."] },
  { section: "speed", title: "Tokens a second", from: 0, series: [["speed/sampled_tokens_per_s", "sampled", 1]] },
  { section: "speed", title: "Programs a second", from: 0, series: [["speed/programs_per_s", "judged", 3]] },
  { section: "speed", title: "Judged while sampling", format: share, from: 0, to: 1, series: [["rollout/judged_while_sampling", "of the programs", 1]] },
];

/** Shown elsewhere, or of no use as a curve. */
const NOT_DRAWN = new Set(["grpo/dead_groups", "time/step_s"]);

/** The order and colour of verdicts; those not named come last. */
const VERDICT_TONES = { pass: "pass", wrong: "wrong", raised: "raised", syntax_error: "syntax", no_code: "none", timeout: "slow", memory: "slow", output: "slow", crashed: "crash", load_error: "crash", unserialisable: "crash", unjudged: "odd", not_run: "odd", unscored: "odd" };

function verdictTone(verdict) {
  return VERDICT_TONES[verdict] ?? "odd";
}

function share(value, isTick) {
  return Number.isFinite(value) ? `${isTick ? Math.round(100 * value) : (100 * value).toFixed(1)} %` : String(value);
}

function seconds(value) {
  return `${figure(value)} s`;
}

function verdictShares() {
  const seen = new Set([...known.rollouts.values()].flatMap((it) => Object.keys(it.verdicts)));
  return Object.keys(VERDICT_TONES).filter((it) => seen.has(it)).map((verdict) => ({
    label: words(verdict), tone: `v-${verdictTone(verdict)}`,
    line: rolloutPoints((it) => (it.verdicts[verdict] ?? 0) / it.completions),
  }));
}

function termMeans() {
  const names = [...new Set([...known.rollouts.values()].flatMap((it) => Object.keys(it.terms)))].sort();
  return names.slice(0, 8).map((name, at) => ({ label: brief(words(name), 40), tone: at + 1, line: rolloutPoints((it) => it.terms[name]) }));
}

function deadGroups() {
  return [{ label: "of the step's groups", tone: 2, line: rolloutPoints((it) => it.groups > 0 ? it.dead_groups / it.groups : null) }];
}

function lengths() {
  const of = (label, tone, at) => ({ label, tone, line: rolloutPoints((it) => it.tokens?.[at]) });
  return [of("longest", 2, 4), of("nine of ten are shorter", 7, 3), of("one of ten is shorter", 7, 1)];
}

/** The end of an axis that one slow step does not flatten; says so in a note. */
function withoutOutliers(series, notes) {
  const sums = new Map();
  for (const { line } of series) for (const [step, value] of line) sums.set(step, (sums.get(step) ?? 0) + value);
  const ordered = [...sums.values()].filter(Number.isFinite).sort((one, other) => one - other);
  const usual = ordered[Math.floor(0.95 * (ordered.length - 1))];
  const [most, to] = [ordered.at(-1), 2 * usual];
  if (!(most > 2 * to)) return {};
  const beyond = ordered.filter((it) => it > to).length;
  notes.push(`${counted(beyond, "step")} took longer than the axis, up to ${seconds(most)}. Was something else busy on the machine?`);
  return { to };
}

/** Whether a measurement has one value in all steps: a line that says nothing. */
function isConstant(name) {
  return new Set(known.metrics.get(name).values()).size === 1;
}

/** Measurements that no chart shows, as name and value. */
function constants() {
  const used = new Set(CATALOGUE.flatMap((entry) => (entry.series ?? []).map(([name]) => name)));
  const names = [...known.metrics.keys()].filter((name) => !used.has(name) && !NOT_DRAWN.has(name) && isConstant(name)).sort();
  return names.map((name) => [name, known.metrics.get(name).values().next().value]);
}

/** The charts of the catalogue that have data, and a small one for every other measurement. */
function chartSpecs() {
  const has = (name) => known.metrics.has(name);
  const zero = (name) => has(name) && [...known.metrics.get(name).values()].every((it) => it === 0);
  const used = new Set(NOT_DRAWN);
  const specs = CATALOGUE.map((entry) => {
    const named = (entry.series ?? []).map(([name, label, tone]) => used.add(name) && { label, tone, line: points(name) });
    const all = [...named, ...(entry.rollouts?.() ?? [])].filter((it) => it.line.length > 0);
    const series = all.filter((it) => it.label !== NO_KL || it.line.some(([, value]) => value !== 0));
    const notes = (entry.notes ?? []).map((note) => typeof note === "function" ? note(has, zero) : note).filter(Boolean);
    const broken = series.filter((it) => it.line.some(([, value]) => !Number.isFinite(value)));
    if (broken.length > 0) notes.unshift(`${broken.map((it) => it.label).join(", ")}: not a number in some steps, where the curve breaks.`);
    return { ...entry, series, notes, ...(entry.robust ? withoutOutliers(series, notes) : {}) };
  });
  const rest = [...known.metrics.keys()].filter((name) => !used.has(name) && !isConstant(name)).sort();
  const others = rest.map((name) => ({ section: "other", title: brief(name, 60), series: [{ label: "value", tone: 1, line: points(name) }] }));
  return [...specs, ...others].filter((spec) => spec.series.length > 0);
}
