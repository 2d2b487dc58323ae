//! Rule `cycles`: files of a crate do not use each other in a circle without a reason.
//!
//! A `mod.rs` (or `lib.rs`) holds what the files of its folder share, so their uses of it do not count:
//! `cargo xtask stats` counts cycles with and without them. A new cycle is broken by moving what both
//! sides need into a file of its own, or is listed here with its reason. An entry that no cycle needs is a
//! problem too.

use super::Problem;
use super::tree::Tree;
use crate::file_graph::{OwnModule, file_cycles};

const RULE: &str = "cycles";

/// Files that may use each other.
struct Kept {
    /// The folder below `crates` that all files are in.
    folder: &'static str,
    /// The files in it.
    files: &'static [&'static str],
    reason: &'static str,
}

/// Why a kernel and its devices use each other.
const OPERATION: &str = "an operation calls its CPU and CUDA code, which takes its types";

/// The cycles there are.
const KEPT: &[Kept] = &[
    Kept {
        folder: "cli/src",
        files: &[
            "cli.rs",
            "config_command.rs",
            "data/filter.rs",
            "data/mod.rs",
            "data/pairs/args.rs",
            "data/pairs/mod.rs",
            "data/pairs/table.rs",
            "data/prepare/args.rs",
            "data/prepare/mod.rs",
            "data/test_generation.rs",
            "data/traces.rs",
            "data/validate/args.rs",
            "data/validate/mod.rs",
            "data/validate/table.rs",
            "eval/args.rs",
            "prompt/compare.rs",
            "prompt/mod.rs",
            "prompt/show.rs",
            "quickstart/args.rs",
            "rollout/args.rs",
            "score/args.rs",
            "teach/args.rs",
            "train/args.rs",
        ],
        reason: "the command line lists the commands, and their arguments include its own",
    },
    Kept {
        folder: "cli/src/model",
        files: &["info.rs", "table.rs"],
        reason: "a table of what the command prints as JSON",
    },
    Kept {
        folder: "core/src",
        files: &["config/prompt.rs", "prompt/context.rs", "prompt/template.rs"],
        reason: "a template is one of the settings, and the settings are checked by rendering it",
    },
    Kept {
        folder: "recipe/src",
        files: &["prompt_lines.rs", "prompts.rs"],
        reason: "a line of JSON Lines is one form of a given prompt",
    },
    Kept {
        folder: "kernels/src",
        files: &["adamw.rs", "cpu/adamw.rs", "cuda/tensors.rs", "norm.rs"],
        reason: OPERATION,
    },
    Kept {
        folder: "kernels/src",
        files: &[
            "attention.rs",
            "cpu/attention.rs",
            "cpu/paged.rs",
            "cuda/attention.rs",
            "cuda/attention_backward.rs",
            "cuda/attention_wgmma.rs",
            "paged.rs",
        ],
        reason: OPERATION,
    },
    Kept {
        folder: "kernels/src",
        files: &[
            "copy.rs",
            "cpu/product/mod.rs",
            "cpu/rms_norm.rs",
            "cpu/rope.rs",
            "cuda/elementwise.rs",
            "cuda/order/mod.rs",
            "cuda/product.rs",
            "cuda/rms_norm.rs",
            "cuda/weight_gradients.rs",
            "int8.rs",
            "linear.rs",
            "matmul.rs",
            "rms_norm.rs",
            "rope.rs",
        ],
        reason: OPERATION,
    },
    Kept {
        folder: "kernels/src",
        files: &["cpu/head.rs", "cuda/head.rs", "head.rs"],
        reason: OPERATION,
    },
    Kept {
        folder: "kernels/src",
        files: &["cpu/sample.rs", "cuda/sample.rs", "sample.rs"],
        reason: OPERATION,
    },
    Kept {
        folder: "kernels/src",
        files: &["cuda/fused_linear.rs", "cuda/gated_narrow.rs", "fused_linear.rs"],
        reason: OPERATION,
    },
    Kept {
        folder: "kernels/src",
        files: &["cuda/qk_norm_rope.rs", "qk_norm_rope.rs"],
        reason: OPERATION,
    },
    Kept {
        folder: "kernels/src/cuda",
        files: &["driver.rs", "error.rs"],
        reason: "an error names the device's version, and calls of the driver return errors",
    },
    Kept {
        folder: "kernels/src/cuda",
        files: &["launch.rs", "nvidia.rs", "pinned.rs", "stream_capture.rs"],
        reason: "parts of one driver, which check the codes that its calls return",
    },
    Kept {
        folder: "sandbox/src/supervisor",
        files: &["checked.rs", "slot.rs"],
        reason: "checking the answers of a program is a method of the slot that runs it",
    },
    Kept {
        folder: "solver/src",
        files: &[
            "bounds.rs",
            "certificate.rs",
            "check.rs",
            "conflict.rs",
            "deletion.rs",
            "dense/mod.rs",
            "dense/phase.rs",
            "dense/table.rs",
            "exact/mod.rs",
            "farkas.rs",
            "float.rs",
            "point.rs",
            "refutation.rs",
            "scaling.rs",
            "side.rs",
            "simplex.rs",
            "tableau.rs",
            "verdict.rs",
            "view.rs",
        ],
        reason: "a verdict holds its certificate, and a certificate is checked by what makes verdicts",
    },
    Kept {
        folder: "solver/src/lp",
        files: &["expression.rs", "read.rs"],
        reason: "expressions are read by methods of the reader",
    },
];

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let cycles = file_cycles(tree, OwnModule::Ignored);
    let unlisted = cycles.iter().filter(|cycle| !KEPT.iter().any(|kept| kept.covers(cycle)));
    let unlisted = unlisted.map(|cycle| {
        let message = format!(
            "uses, directly or not, a file that uses it: {}. Move what both need into a file of its own, \
             or give the reason in `xtask/src/tidy/cycles.rs`",
            cycle.join(", ")
        );
        Problem::new(RULE, &cycle[0], message)
    });
    let is_here = |kept: &&Kept| tree.has(&format!("crates/{}/{}", kept.folder, kept.files[0]));
    let unneeded =
        KEPT.iter().filter(is_here).filter(|kept| !cycles.iter().any(|cycle| kept.covers(cycle)));
    let unneeded = unneeded.map(|Kept { folder, reason, .. }| {
        let message =
            format!("the cycle in `crates/{folder}` (\"{reason}\") is gone: remove its entry");
        Problem::new(RULE, "xtask/src/tidy/cycles.rs", message)
    });
    unlisted.chain(unneeded).collect()
}

impl Kept {
    /// Whether all files of a cycle are among these.
    fn covers(&self, cycle: &[String]) -> bool {
        let inside = |file: &String| {
            let file = file.strip_prefix("crates/").and_then(|file| file.strip_prefix(self.folder));
            file.and_then(|file| file.strip_prefix('/'))
                .is_some_and(|file| self.files.contains(&file))
        };
        cycle.iter().all(inside)
    }
}
