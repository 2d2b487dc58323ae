//! `[dpo]`: the training of a policy on preference pairs, with no reward model in between.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Problem;

/// The training of the student on preference pairs (`whet train dpo`). Its micro-batches, schedule and
/// checkpoints are those of `training.*`, its adapter that of `lora.*`. The reference policy is the student
/// that the training began with: the model without its adapter, or with the adapter that `--from` named.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DpoConfig {
    /// Loss of a pair: `dpo`, `ipo` or `simpo`. TRL's `loss_type = "sigmoid"` is `dpo`.
    #[schemars(extend("x-aliases" = ["loss_type"]))]
    pub loss: PreferenceLoss,
    /// Factor of log-ratios in the implicit reward: small values let the policy move further from the
    /// reference. DPO and IPO are used with 0.01 to 0.5, SimPO with 2 to 10.
    #[schemars(extend("exclusiveMinimum" = 0.0), range(max = 1000.0))]
    pub beta: f64,
    /// Probability that a pair's label is wrong, in the loss `dpo` (conservative DPO); 0 trusts every label.
    #[schemars(range(min = 0.0), extend("exclusiveMaximum" = 0.5))]
    pub label_smoothing: f64,
    /// Margin gamma that `simpo` wants between the two implicit rewards.
    #[schemars(range(min = 0.0))]
    pub simpo_gamma: f64,
    /// Weight of the cross-entropy on the chosen reply, a mean over its tokens, beside the loss of the pair;
    /// 0 is none. It holds up the likelihood of chosen replies.
    #[schemars(range(min = 0.0))]
    pub sft_weight: f64,
    /// Peak learning rate of the adapter. Training all weights takes about a tenth of it.
    #[schemars(extend("exclusiveMinimum" = 0.0), range(max = 1.0))]
    pub learning_rate: f64,
    /// Passes over the pairs. `training.max_steps` overrides it.
    #[schemars(range(min = 1), extend("x-aliases" = ["num_train_epochs"]))]
    pub epochs: u32,
    /// Pairs in an optimizer step. They are computed `training.per_device_train_batch_size` pairs at a
    /// time, which does not change the update.
    #[schemars(range(min = 1, max = 65536))]
    pub batch_size: u32,
    /// Fraction of the pairs that is held out where no `--held-out-pairs` are named: all pairs of a
    /// task, or of a prompt, are on one side.
    #[schemars(extend("exclusiveMinimum" = 0.0), range(max = 0.5))]
    pub held_out_fraction: f64,
    /// Steps between measurements on held-out pairs; the last step is always followed by one. 0
    /// measures only then.
    pub eval_steps: u32,
    /// Maximum number of held-out pairs of a measurement during training, chosen by the seed; at the
    /// end all are measured.
    #[schemars(range(min = 1))]
    pub eval_pairs: u32,
}

/// A loss on preference pairs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PreferenceLoss {
    /// Direct preference optimization (arXiv:2305.18290): the logistic loss of the difference of
    /// log-ratios to the reference, summed over tokens.
    #[schemars(extend("x-aliases" = ["sigmoid"]))]
    Dpo,
    /// Identity preference optimization (arXiv:2310.12036): the squared distance of that difference from
    /// `1 / (2 beta)`. Log-ratios are means over tokens, as in TRL.
    Ipo,
    /// SimPO (arXiv:2405.14734): the logistic loss of the difference of mean log-probabilities less a
    /// margin; there is no reference.
    #[serde(rename = "simpo")]
    SimPo,
}

impl PreferenceLoss {
    /// Whether log-probabilities are compared with those of a reference.
    pub fn has_reference(self) -> bool {
        self != Self::SimPo
    }
}

impl DpoConfig {
    /// Settings that only another loss reads.
    pub(super) fn problems(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        if self.label_smoothing > 0.0 && self.loss != PreferenceLoss::Dpo {
            problems.push(Problem {
                key: "dpo.label_smoothing",
                message: "only the loss `dpo` has a probability of wrong labels".to_owned(),
                hint: "set it to 0, or `dpo.loss = \"dpo\"`",
            });
        }
        problems
    }

    /// A weight of implicit rewards that is another loss's.
    pub(super) fn unusual_beta(&self) -> Option<Problem> {
        let is_small = self.loss == PreferenceLoss::SimPo && self.beta < 1.0;
        is_small.then(|| Problem {
            key: "dpo.beta",
            message: format!(
                "SimPO's rewards are means over tokens: with beta {} the loss hardly sees a difference",
                self.beta
            ),
            hint: "2 to 10 is usual for `simpo`, with `dpo.simpo_gamma` about half of it",
        })
    }
}

impl Default for DpoConfig {
    fn default() -> Self {
        Self {
            loss: PreferenceLoss::Dpo,
            beta: 0.1,
            label_smoothing: 0.0,
            simpo_gamma: 1.0,
            sft_weight: 0.0,
            learning_rate: 1e-5,
            epochs: 1,
            batch_size: 32,
            held_out_fraction: 0.1,
            eval_steps: 10,
            eval_pairs: 200,
        }
    }
}
