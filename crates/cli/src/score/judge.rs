//! The judge that `whet score` asks.

use whetstone_core::config::Config;
use whetstone_rollout::cache::Identity;
use whetstone_sandbox::{JUDGE_VERSION, Judge};

use crate::failure::Failure;
use crate::judge;

/// A judge at work, and what its verdicts depend on.
pub(crate) struct Started {
    pub(crate) judge: Judge,
    pub(crate) identity: Identity,
}

/// Starts the judge that the settings ask for.
pub(crate) fn start_judge(config: &Config) -> Result<Started, Failure> {
    let judge = judge::start(config).map_err(|err| Failure::Judge {
        problem: err.to_string(),
        hint: "`whet doctor` checks everything the judge needs; `--skip-runtime` scores static \
               properties of the replies only",
    })?;
    let about = judge.about();
    let [major, minor, micro] = about.python_version;
    let identity = Identity {
        judge: JUDGE_VERSION.to_owned(),
        interpreter: format!("CPython {major}.{minor}.{micro}"),
        isolation: about.isolation,
    };
    Ok(Started { judge, identity })
}
