//! The order of stages: each behind those that it follows.

use std::collections::BTreeSet;

/// The stages in order, of several possible ones the first first; or a circle, its first stage at both ends.
pub(super) fn in_order(follows: &[BTreeSet<usize>]) -> Result<Vec<usize>, Vec<usize>> {
    let mut order: Vec<usize> = Vec::new();
    while order.len() < follows.len() {
        let is_ready = |at: &usize| {
            !order.contains(at) && follows[*at].iter().all(|before| order.contains(before))
        };
        match (0..follows.len()).find(is_ready) {
            Some(next) => order.push(next),
            None => return Err(circle(follows, &order)),
        }
    }
    Ok(order)
}

/// A circle among the stages that cannot be put in order: each of them follows another such one.
fn circle(follows: &[BTreeSet<usize>], done: &[usize]) -> Vec<usize> {
    let is_open = |at: &usize| !done.contains(at);
    let mut at = (0..follows.len()).find(is_open).unwrap_or(0);
    let mut path = Vec::new();
    while !path.contains(&at) {
        path.push(at);
        at = follows[at].iter().copied().find(is_open).unwrap_or(at);
    }
    let begin = path.iter().position(|&seen| seen == at).unwrap_or(0);
    path[begin..].iter().copied().chain([at]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_stands_behind_those_it_follows_and_a_circle_is_found_where_it_is() {
        let of = |follows: &[&[usize]]| {
            let follows: Vec<BTreeSet<usize>> =
                follows.iter().map(|all| all.iter().copied().collect()).collect();
            in_order(&follows)
        };
        assert_eq!(of(&[&[], &[2], &[0]]), Ok(vec![0, 2, 1]));
        assert_eq!(of(&[&[], &[0], &[0]]), Ok(vec![0, 1, 2]), "the first in the file first");
        assert_eq!(of(&[&[], &[0, 2], &[3], &[2]]), Err(vec![2, 3, 2]));
        assert_eq!(of(&[&[0]]), Err(vec![0, 0]));
    }
}
