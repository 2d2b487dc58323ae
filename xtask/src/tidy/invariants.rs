//! Rule `invariants`: edges that no table may allow.
//!
//! The judge cannot see the judged: `data`, `sandbox` and `env` reach neither `kernels`, `model`
//! nor `infer`, directly or through others, not even to test themselves. And `algo` sees no
//! tensor: it depends on `core` alone. These are code rather than rows of ARCHITECTURE.md, so
//! that one edit of a page cannot undo them.

use std::collections::BTreeSet;

use super::Problem;
use super::manifest::{self, Crate, Kind};
use super::tree::Tree;

const RULE: &str = "invariants";

const JUDGES: &[&str] = &["data", "sandbox", "env"];
const JUDGED: &[&str] = &["kernels", "model", "infer"];

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let crates = manifest::crates(tree);
    let judges = crates.iter().filter(|member| JUDGES.contains(&member.name.as_str()));
    let mut problems: Vec<Problem> = judges.flat_map(|judge| seen_by(judge, &crates)).collect();
    problems.extend(crates.iter().filter(|member| member.name == "algo").flat_map(beyond_core));
    problems
}

/// One problem for each of the judged that `judge` can reach, with the way there.
fn seen_by(judge: &Crate, crates: &[Crate]) -> Vec<Problem> {
    let ways = ways_from(judge, crates);
    let bad = ways.iter().filter(|way| way.last().is_some_and(|end| JUDGED.contains(end)));
    bad.map(|way| {
        let message = format!("the judge must not see the judged: {}", way.join(" → "));
        Problem::new(RULE, &manifest::manifest_of(&judge.name), message)
    })
    .collect()
}

/// The shortest way to every crate that `start` reaches. What its neighbours need to test
/// themselves is not built with it, so dev-dependencies count on the first edge only.
fn ways_from<'a>(start: &'a Crate, crates: &'a [Crate]) -> Vec<Vec<&'a str>> {
    let mut seen = BTreeSet::from([start.name.as_str()]);
    let mut ways = vec![vec![start.name.as_str()]];
    let mut at = 0;
    while at < ways.len() {
        let way = ways[at].clone();
        let here = crates.iter().find(|member| way.last() == Some(&member.name.as_str()));
        for (to, kind) in here.iter().flat_map(|member| &member.edges) {
            if (at == 0 || *kind == Kind::Build) && seen.insert(to) {
                ways.push([way.as_slice(), &[to]].concat());
            }
        }
        at += 1;
    }
    ways
}

fn beyond_core(algo: &Crate) -> Vec<Problem> {
    let edges = algo.edges.iter().filter(|(to, kind)| to != "core" && *kind == Kind::Build);
    edges
        .map(|(to, _)| {
            let message = format!("`algo` depends on `core` alone, but names `{to}`");
            Problem::new(RULE, &manifest::manifest_of(&algo.name), message)
        })
        .collect()
}
