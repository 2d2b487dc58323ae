// The catalogue of charts, their metrics, and explanations of curves that need one.
//
// `series` names metrics (name, label, tone); `rollouts` computes lines from the rollout statistics of the
// steps. A note is a sentence, or a function of `has(metric)` and `zero(metric)` that returns one or nothing.

/** The part of the loss that is left out where it is 0 throughout. */
const KL_LOSS = "KL";

const LEARNING = [
  {
    title: "Reward",
    series: [
      ["grpo/mean_reward", "mean reward", 1],
      ["grpo/reward_std", "spread (standard deviation)", 7],
      ["ppo/mean_reward", "mean reward", 1],
      ["ppo/reward_std", "spread (standard deviation)", 7],
    ],
    notes: [
      "Mean reward of the step's completions. Steps have different tasks, so single steps are noisy: " +
        "follow the thick line.",
    ],
  },
  {
    title: "Pass rate", format: share, from: 0,
    series: [
      ["grpo/pass_rate", "all tests pass", 3],
      ["ppo/pass_rate", "all tests pass", 3],
      ["held_out/pass_rate", "all tests pass, held-out tasks", 2],
      ["code/avg_test_pass_rate", "tests passed", 1],
      ["code/syntax_success_rate", "parses", 5],
      ["held_out/no_code", "no code, held-out tasks", 6],
    ],
    notes: [
      (has) => has("held_out/pass_rate")
        ? "On training tasks and, at intervals, on held-out tasks. If the former rises while the latter falls, " +
          "the model overfits."
        : "On training tasks. Measure pass@k on held-out tasks to see whether the model generalises.",
      (has) => has("held_out/no_code") &&
        "Where passes rise as replies without code become fewer, the model learns the format of an answer and not to solve more.",
    ],
  },
  {
    title: "Games", format: share, from: 0, to: 1,
    series: [
      ["phaser/checks_passed", "checks passed", 1],
      ["phaser/clean_run_rate", "ran without a failure", 3],
      ["phaser/parse_rate", "parses", 5],
      ["phaser/unknown_api_rate", "uses unknown names, of those that parse", 4],
    ],
    notes: ["Replies to Phaser tasks. Unknown names cap the reward, so their rate should fall first."],
  },
  {
    title: "Verdicts", stacked: true, calm: true, format: share, from: 0, to: 1, rollouts: verdictShares,
    notes: [
      "Verdicts on the programs. The areas are moving averages; point at them for the values of single " +
        "steps.",
    ],
  },
  {
    title: "Causes", format: share, from: 0, rollouts: causeShares,
    notes: [
      "Why completions have no program, or one that does not load: code in the thinking alone, an assertion of the " +
        "program's own that fails. If one cause explains most failures, training first learns the form.",
    ],
  },
  {
    title: "Reward by term", rollouts: termMeans,
    notes: ["Contribution of each term to the reward, including its weight, before gates cap the total."],
  },
  {
    title: "Dead groups", format: share, from: 0, rollouts: deadGroups,
    notes: [
      "In a dead group all samples have the same test results: GRPO gives them advantages of 0 and learns nothing " +
        "from them. If there are many, the tasks are too hard or too easy, or the samples too similar.",
    ],
  },
  {
    title: "Lengths", rollouts: lengths, series: [["rollout/mean_tokens", "mean", 1]],
    notes: ["Tokens of a completion. Growing lengths without growing reward are a warning sign."],
  },
  {
    title: "Cut off by the token limit", format: share, from: 0,
    series: [["rollout/truncated", "cut off", 4]],
    notes: [
      "A truncated completion rarely has a complete program. If this grows, raise the limit or look at the " +
        "lengths.",
    ],
  },
];

const REWARD_MODEL = [
  {
    title: "Pairs in the right order", format: share, from: 0, to: 1,
    series: [
      ["rm/accuracy", "pairs of the step", 1],
      ["rm/held_out_accuracy", "held-out pairs", 2],
      ["rm/held_out_accuracy_low", "95 % interval: lower end", 7],
      ["rm/held_out_accuracy_high", "95 % interval: upper end", 7],
    ],
    notes: [
      "Pairs whose chosen reply scores higher. Half of them is chance. If the step's pairs rise while held-out " +
        "pairs do not, the reward model overfits.",
    ],
  },
  {
    title: "Lead of the chosen reply",
    series: [
      ["rm/margin", "pairs of the step", 1],
      ["rm/held_out_margin", "held-out pairs", 2],
      ["rm/score_mean", "mean score", 7],
    ],
    notes: ["Mean difference of the scores, chosen less rejected."],
  },
  {
    title: "Calibration of held-out pairs", from: 0,
    series: [
      ["rm/held_out_calibration_error", "calibration error", 2],
      ["rm/held_out_brier", "Brier score", 1],
    ],
    notes: [
      "Whether sigmoid(chosen - rejected) is the probability that the order is right. The calibration error of few " +
        "pairs is above 0 by chance.",
    ],
  },
  {
    title: "Scores and length",
    series: [
      ["rm/length_correlation", "correlation of score and length", 2],
      ["rm/label_length_correlation", "correlation of label and length", 7],
      ["rm/accuracy_chosen_longer", "accuracy, chosen is longer", 3],
      ["rm/accuracy_chosen_shorter", "accuracy, chosen is shorter", 4],
    ],
    notes: [
      "A reward model that has learnt length follows it more than the labels do, and is wrong where the better " +
        "reply is the shorter one.",
    ],
  },
];

const PROCESS_MODEL = [
  {
    title: "Progress told apart", format: share, from: 0, to: 1,
    series: [
      ["prm/held_out_auc", "AUC of held-out transitions", 2],
      ["prm/held_out_auc_low", "95 % interval: lower end", 7],
      ["prm/held_out_auc_high", "95 % interval: upper end", 7],
      ["prm/accuracy", "right on the step's transitions", 1],
    ],
    notes: [
      "The AUC is the chance that a transition with progress has the higher probability than one without; half is " +
        "chance.",
    ],
  },
  {
    title: "Calibration of held-out transitions", from: 0,
    series: [
      ["prm/held_out_calibration_error", "calibration error", 2],
      ["prm/held_out_brier", "Brier score", 1],
    ],
    notes: ["Whether a probability is the share of transitions with progress. That of few transitions is above 0 by chance."],
  },
  {
    title: "Labels and probabilities", format: share, from: 0, to: 1,
    series: [
      ["prm/positives", "positive labels of the step", 7],
      ["prm/probability_mean", "mean probability", 1],
    ],
  },
  {
    title: "What the process reward model says", format: share, from: 0, to: 1,
    series: [
      ["process/solved", "solved episodes", 3],
      ["process/unsolved", "unsolved episodes", 4],
    ],
    notes: [
      "Mean probability of the transitions. If that of unsolved episodes rises and the pass rate does not, the policy " +
        "learns to please the model.",
    ],
  },
];

const HEALTH = [
  {
    title: "Loss",
    series: [
      ["grpo/policy_loss", "policy", 1],
      ["ppo/policy_loss", "policy", 1],
      ["ppo/value_loss", "critic", 2],
      ["grpo/kl_loss", KL_LOSS, 2],
      ["teacher_sft/loss", "teacher's traces", 3],
      ["self_sft/loss", "own best answers", 4],
      ["sft/loss", "traces", 3],
      ["rm/loss", "preference pairs", 5],
      ["prm/loss", "transitions", 6],
    ],
    notes: [
      (has) => has("grpo/policy_loss") &&
        "The policy loss is near 0 because the advantages of a group sum to 0. It says nothing about " +
        "progress: look at reward and KL.",
      (has) => ["teacher_sft/loss", "self_sft/loss", "sft/loss"].some(has) &&
        "Losses on traces are the mean cross-entropy of their tokens, in nats: they should fall.",
      (has) => has("ppo/value_loss") &&
        "The critic's loss is its mean squared error; the policy loss is near 0, since advantages are whitened.",
      (has) => has("rm/loss") &&
        "The loss on preference pairs begins at 0.69, that of a guess, and should fall.",
      (has) => has("prm/loss") &&
        "The loss on transitions begins at 0.69, that of a guess, and should fall.",
    ],
  },
  {
    title: "KL divergence",
    series: [
      ["grpo/kl_divergence", "from the reference", 1],
      ["grpo/update_kl", "of a step's updates", 2],
      ["ppo/reference_kl", "from the reference", 1],
      ["ppo/kl_divergence", "of a step's updates", 2],
      ["grpo/staleness_kl", "from who sampled the file", 3],
      ["distill/kl", "from the teacher", 5],
    ],
    notes: [
      (has) => ["grpo/kl_divergence", "ppo/reference_kl"].some(has)
        ? "Divergence of the student from the reference policy, in nats per token. A sudden rise with flat " +
          "reward is drift."
        : "This run has no reference policy, so the divergence from it was not measured.",
      (has) => ["grpo/update_kl", "ppo/kl_divergence"].some(has) &&
        "The updates' KL is how far one step moved the student, measured after it. Much above 0.01 is a large step.",
      (has) => has("distill/kl") &&
        "From the teacher of distillation, on the tokens that the student sampled: it should fall. At 0 the student " +
        "says what its teacher would say.",
      (has) => has("grpo/staleness_kl") &&
        "The rollouts come from a file: this is the divergence of the student from the policy that sampled them. " +
        "As it grows, more tokens are clipped and the rollouts teach less.",
    ],
  },
  {
    title: "Entropy", from: 0,
    series: [["grpo/entropy", "nats a token", 1], ["ppo/entropy", "nats a token", 1]],
    notes: [
      "Uncertainty of the student. It falls during training; close to 0 the samples of a group are all " +
        "alike, and groups are dead.",
    ],
  },
  {
    title: "Clip fraction", format: share, from: 0,
    series: [["grpo/clip_fraction", "tokens clipped", 2], ["ppo/clip_fraction", "tokens clipped", 2]],
    notes: [
      (has, zero) => zero("grpo/clip_fraction")
        ? "0 throughout: each batch is used for one update, so no ratio has moved yet and nothing is clipped."
        : "Tokens whose ratio left the trust region. Much above 20 % means that updates are too large.",
    ],
  },
  {
    title: "Critic", series: [
      ["ppo/value_pred_mean", "mean value", 1],
      ["ppo/mean_return", "mean return", 3],
      ["ppo/mean_advantage", "mean advantage", 7],
    ],
    notes: ["Values should follow returns; the mean advantage, before whitening, is what the critic misses."],
  },
  {
    title: "Explained variance",
    series: [["ppo/explained_variance", "baselines", 2], ["ppo/explained_variance_tokens", "all tokens", 4]],
    notes: ["1 is a perfect critic, 0 one that knows the mean alone, below 0 one that is worse than that."],
  },
  {
    title: "Probability ratios",
    series: [["ppo/ratio_mean", "mean", 1], ["ppo/ratio_std", "standard deviation", 7]],
    notes: ["Over all updates of a step. The mean stays near 1; a deviation that grows means larger updates."],
  },
  {
    title: "Updates of a step", from: 0,
    series: [["ppo/updates", "made", 3], ["ppo/skipped_mini_batches", "mini-batches left out", 4]],
    notes: ["Mini-batches are left out once the policy has moved further than `ppo.target_kl`."],
  },
  {
    title: "Reward model",
    series: [
      ["reward_model/score", "mean score", 1],
      ["reward_model/length_correlation", "correlation with length", 4],
    ],
    notes: ["Scores in units of the held-out replies. A correlation near 1 or -1: it pays for length."],
  },
  {
    title: "Gradient norms by source", from: 0,
    series: [
      ["train/grad_norm", "all together", 7],
      ["grpo/grad_norm", "rollouts", 1],
      ["teacher_sft/grad_norm", "teacher's traces", 3],
      ["self_sft/grad_norm", "own best answers", 4],
      ["distill/grad_norm", "distillation", 2],
      ["sft/grad_norm", "traces", 3],
      ["rm/grad_norm", "preference pairs", 5],
      ["prm/grad_norm", "transitions", 6],
    ],
    notes: ["Before clipping, each with its weight. A loss whose gradient dwarfs the others determines the update."],
  },
  {
    title: "Angle to the rollouts' gradient",
    series: [
      ["teacher_sft/cosine", "teacher's traces", 3],
      ["self_sft/cosine", "own best answers", 4],
      ["distill/cosine", "distillation", 2],
    ],
    notes: ["Cosine: 1 pulls the same way, 0 another way, below 0 against each other."],
  },
  {
    title: "Sampler and trainer", from: 0,
    series: [
      ["grpo/sampler_gap", "largest difference of a log-prob", 2],
      ["ppo/sampler_gap", "largest difference of a log-prob", 2],
    ],
    notes: ["Both compute with the same code, so this is rounding, around 1e-5. Anything larger is a defect."],
  },
  {
    title: "Learning rate", plain: true, from: 0,
    series: [
      ["train/lr", "learning rate", 7],
      ["sft/lr", "learning rate", 7],
      ["rm/lr", "learning rate", 7],
      ["prm/lr", "learning rate", 7],
    ],
  },
];

const SPEED = [
  {
    title: "Phases of a step", stacked: true, robust: true, format: seconds, from: 0,
    series: [
      ["time/held_out_s", "held-out tasks", 5],
      ["time/sampling_s", "sampling (and judging meanwhile)", 1],
      ["time/judging_after_sampling_s", "waiting for the judge", 2],
      ["time/reference_s", "reference", 4],
      ["time/learning_s", "learning", 3],
    ],
    notes: [
      "Seconds of each step. Programs are judged while others are sampled; only what is left when sampling " +
        "ends is waited for.",
    ],
  },
  { title: "Tokens a second", from: 0, series: [["speed/sampled_tokens_per_s", "sampled", 1]] },
  { title: "Programs a second", from: 0, series: [["speed/programs_per_s", "judged", 3]] },
  {
    title: "Judged while sampling", format: share, from: 0, to: 1,
    series: [["rollout/judged_while_sampling", "of the programs", 1]],
  },
];

/** Every chart with the section that it stands in. */
const CATALOGUE = Object.entries({ learning: [...LEARNING, ...REWARD_MODEL, ...PROCESS_MODEL], health: HEALTH, speed: SPEED })
  .flatMap(([section, entries]) => entries.map((entry) => ({ series: [], notes: [], section, ...entry })));

/** Shown as part of something else: the last are the terms of the reward, which the rollouts have too. */
const NOT_DRAWN = new Set(["grpo/dead_groups", "grpo/solved_groups", "grpo/unsolved_groups", "grpo/clamped", "grpo/clamped_fraction", "train/skipped_updates", "time/step_s", "code/timeouts", "code/no_code", "code/in_thinking", "code/own_test_failed", "held_out/tasks", "rm/held_out_pairs", "rm/chosen_shorter_pairs", "rm/pairs", "rm/tokens", "prm/held_out_transitions", "prm/transitions", "prm/tokens", "process/transitions"]);
const TERM_METRICS = "reward/";

/** The order of verdicts, and which are alike enough to share a colour. */
const VERDICT_TONES = {
  pass: "pass",
  wrong: "wrong",
  raised: "raised",
  syntax_error: "syntax",
  no_code: "none",
  timeout: "slow",
  memory: "slow",
  output: "slow",
  crashed: "crash",
  load_error: "crash",
  unserialisable: "crash",
  unjudged: "odd",
  not_run: "odd",
  unscored: "odd",
  solved: "pass",
  unsolved: "wrong",
};

function verdictTone(verdict) {
  return `v-${VERDICT_TONES[verdict] ?? "odd"}`;
}

function share(value, isTick) {
  if (!Number.isFinite(value)) return String(value);
  return `${isTick ? Number((100 * value).toPrecision(6)) : percentPoints(value)} %`;
}

function seconds(value) {
  return `${figure(value)} s`;
}
