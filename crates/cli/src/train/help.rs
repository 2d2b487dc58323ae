//! The long help of `whet train`: examples, what goes in, what comes out.

/// Of `whet train rm`.
pub(super) const RM_HELP: &str = "\
Examples:
  whet train rm --pairs data/pairs.jsonl --run rm-1 --set student.model_name=models/student
  whet train rm --pairs data/pairs.jsonl --held-out-pairs data/pairs.val.jsonl --run rm-1
  whet train rm --run rm-1 --dry-run           print the plan, its memory and an estimated time
  whet train rm --run rm-1 --resume            resume after an interruption, a crash or a kill -9
  whet train rm --run rm-2 --from runs/sft-1   begin with the adapter of a fine-tuned student
  whet model score runs/rm-1 --pairs data/others.jsonl   measure it on other pairs

A line of the file has a `prompt` (messages), a `chosen` and a `rejected` reply; `whet data pairs` makes
one. Pairs with a sequence longer than `training.max_length` are left out and counted. Settings begin with
`rm.`, those of micro-batches, schedule and checkpoints with `training.`, those of the adapter with `lora.`.

At the end it prints what was measured on all held-out pairs, with 95 % intervals: the part in the right
order, the lead of the chosen reply, the calibration error and the Brier score of sigmoid(chosen -
rejected), and how much scores follow length. The alarms `rm_length_bias` and `rm_at_chance` ring during
training; `docs/guides/reward-models.md` explains all of it.

Exit codes: 0 done, 2 wrong usage, config or input, 3 something broke, 130 stopped by Ctrl-C: `--resume` resumes.";

/// Of `whet train dpo`.
pub(super) const DPO_HELP: &str = "\
Examples:
  whet train dpo --pairs data/pairs.jsonl --run dpo-1 --set student.model_name=models/student
  whet train dpo --pairs data/pairs.jsonl --held-out-pairs data/pairs.val.jsonl --run dpo-1
  whet train dpo --run dpo-1 --from runs/sft-1   begin with a fine-tuned student, which is the reference
  whet train dpo --run ipo-1 --set dpo.loss=ipo
  whet train dpo --run simpo-1 --set dpo.loss=simpo --set dpo.beta=2 --set dpo.simpo_gamma=1
  whet train dpo --run dpo-1 --dry-run           print the plan, its memory and an estimated time
  whet train dpo --run dpo-1 --resume            resume after an interruption, a crash or a kill -9

A line of the file has a `prompt` (messages), a `chosen` and a `rejected` reply; `whet data pairs` makes one
from judged replies or from a file of another form. Pairs with a sequence longer than `training.max_length`
are left out and counted. Settings begin with `dpo.`, those of micro-batches, schedule and checkpoints with
`training.`, those of the adapter with `lora.`.

The alarm `chosen_logp_falls` rings where the policy makes chosen replies less likely too; `docs/guides/dpo.md`
explains the settings and the metrics.

Exit codes: 0 done, 2 wrong usage, config or input, 3 something broke, 130 stopped by Ctrl-C: `--resume` resumes.";

/// Of `whet train prm`.
pub(super) const PRM_HELP: &str = "\
Examples:
  whet train prm --run prm-1 --rollouts runs/grpo-1/rollouts/rollouts.jsonl
  whet train prm --run prm-1 --rollouts train.jsonl --held-out unseen_families.jsonl
  whet train prm --run prm-1 --rollouts train.jsonl --dry-run   print the plan and an estimated time
  whet train prm --run prm-1 --resume          resume after an interruption, a crash or a kill -9
  whet model score runs/prm-1 --transitions others.jsonl        measure it on other episodes
  whet train grpo --run grpo-2 --set reward.process=runs/prm-1  pay episodes for their process
  whet train grpo --run grpo-3 --set reward.process=runs/prm-1 --set grpo.advantage_by=step

Every line with a task (`prompt_id` or `task_id`) and transitions in its `validation` is an episode: rollouts
of a GRPO run, samples of an evaluation, episodes of a teacher. Settings begin with `prm.`, those of
micro-batches, schedule and checkpoints with `training.`, those of the adapter with `lora.`.

Before the first step it prints the share of positive labels, and the share of labels that the end of their
episode contradicts. At the end it prints what was measured on all held-out transitions, with 95 % intervals:
the AUC, the calibration error and the Brier score, and the share of progress at each probability.
`docs/guides/process-rewards.md` explains all of it.

Exit codes: 0 done, 2 wrong usage, config or input, 3 something broke, 130 stopped by Ctrl-C: `--resume` resumes.";

/// Of `whet train ppo`.
pub(super) const PPO_HELP: &str = "\
Examples:
  whet train ppo --run ppo-1 --from runs/sft-1 --reward-model runs/rm-1 --held-out data/dev.jsonl
  whet train ppo --run ppo-1 --from runs/sft-1          paid by the judge alone
  whet train ppo --run ppo-1 --from ./sft_model --reward-model ./rm_model --set reward.composite_weight=0
  whet train ppo --run ppo-1 --dry-run                  print the plan, its memory and an estimated time
  whet train ppo --run ppo-1 --resume                   resume after an interruption, a crash or a kill -9

A step samples `ppo.batch_size` completions and goes `ppo.ppo_epochs` times over them in mini-batches. A
mini-batch whose policy is further than `ppo.target_kl` from the one that sampled ends the step. The run
ends with one of these reasons, which are in the events and in the report:

  KL divergence too large         updates stay above ppo.target_kl, although mini-batches are left out
  Reward improvement too small    the last 20 mean rewards are on average less than ppo.min_improvement
                                  above the 20 before, by two standard errors; off by default
  Maximum epochs reached          ppo.max_epochs passes over the tasks

Policy, critic, reference and reward model are adapters on one base, which is in memory once. Every
completion, with its tokens, log-probabilities, values and returns, goes to
`runs/NAME/rollouts/rollouts.jsonl`. `docs/guides/ppo.md` explains the settings.

Exit codes: 0 done, 2 wrong usage, config or input, 3 something broke, 130 stopped by Ctrl-C: `--resume` resumes.";

/// Of `whet train grpo`.
pub(super) const GRPO_HELP: &str = "\
Examples:
  whet train grpo --tasks data/train.jsonl --run grpo-1 --set student.model_name=models/student
  whet train grpo --run grpo-1 --dry-run       print the plan, its memory and an estimated time
  whet train grpo --run grpo-1 --held-out data/dev.jsonl   measure held-out tasks during training
  whet train grpo --run grpo-1 --resume        resume after an interruption, a crash or a kill -9
  whet train grpo --run replay --rollouts rollouts.scored.jsonl --set dual_source.teacher_sft_weight=0
  whet train grpo --run grpo-2 --from runs/grpo-1/outputs/checkpoint-50 --set training.learning_rate=1e-5
  whet train grpo --run plain --set dual_source.teacher_sft_weight=0 --set dual_source.self_sft_weight=0

Before the first step it prints the number of steps and the memory they need, and sends the longest
possible batch through the model once. Every rollout, with its tokens, verdict, reward and advantage, goes
to `runs/NAME/rollouts/rollouts.jsonl`; the metrics of every step go to `runs/NAME/events.jsonl`.

Alarms warn of common problems; `docs/guides/alarms.md` lists them. They never stop a run, and are also
in the events, in `whet report` and in `whet runs`.

Exit codes: 0 done, 2 wrong usage, config or input, 3 something broke, 130 stopped by Ctrl-C: `--resume` resumes.";

/// Of `whet train sft`.
pub(super) const SFT_HELP: &str = "\
Examples:
  whet train sft --traces data/teacher_traces.jsonl --run sft-1 --set student.model_name=models/student
  whet train sft --rows data/sft_rows.jsonl --run sft-1      rows of `whet teach --rows`, or alpaca files
  whet train sft --run sft-1 --dry-run         print the plan, its memory and an estimated time
  whet train sft --run sft-1 --resume          resume after an interruption, a crash or a kill -9

A line of rows has `instruction`, `input` and `output`: the student is asked `instruction`, a line break and
`input`, and learns `output` and the end of the message. With `history`, pairs of a message and its
reply before the last turn, it learns those replies too; `docs/guides/teacher.md` has the rules. Rows with more
than `training.max_length` tokens are left out and counted.

A run's directory holds its settings, its events, its checkpoints and the final model. A resumed run ends
with the same bytes as an uninterrupted one. `whet config reference` lists every
setting; those of the optimizer begin with `training.`, those of the adapter with `lora.`.

Exit codes: 0 done, 2 wrong usage, config or input, 3 something broke, 130 stopped by Ctrl-C: `--resume` resumes.";
