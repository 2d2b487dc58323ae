//! What a plan is worth: steps that have to do with the program, not their length.

use std::collections::BTreeSet;

/// Steps that are enough.
const STEPS: u8 = 3;
/// The longest plan that is paid, in bytes.
const MAX_BYTES: usize = 4096;
/// Letters of a word that counts as one.
const MIN_LETTERS: usize = 4;

/// From 0 to 1: the share of [`STEPS`] that different steps of the plan fill. A step is a line with a word that occurs in
/// the program and in no step before it, so that neither repetition nor padding is paid.
pub(super) fn worth(plan: &str, source: &str) -> f64 {
    if plan.len() > MAX_BYTES {
        return 0.0;
    }
    let program: BTreeSet<String> = words(source).collect();
    let mut used = BTreeSet::new();
    let mut steps = 0_u8;
    for line in plan.lines() {
        let known = used.len();
        used.extend(words(line).filter(|word| program.contains(word)));
        steps = steps.saturating_add(u8::from(used.len() > known));
    }
    f64::from(steps.min(STEPS)) / f64::from(STEPS)
}

/// Words in lower case; `addSprite` is `add` and `sprite`.
fn words(text: &str) -> impl Iterator<Item = String> + '_ {
    let parts = text.split(|c: char| !c.is_alphanumeric());
    let humps = parts.flat_map(|part| {
        let starts = part.char_indices().filter(|(at, c)| *at > 0 && c.is_uppercase());
        let ends: Vec<usize> = starts.map(|(at, _)| at).chain([part.len()]).collect();
        let begins = std::iter::once(0).chain(ends.clone());
        begins.zip(ends).map(|(begin, end)| &part[begin..end]).collect::<Vec<_>>()
    });
    humps.filter(|word| word.chars().count() >= MIN_LETTERS).map(str::to_lowercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "create() { this.player = this.add.rectangle(9, 9, 9, 9); this.physics.add.collider(this.player); }";

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9
    }

    #[test]
    fn three_steps_about_the_program_are_enough() {
        let plan = "1. Make the player a rectangle.\n2. Give it physics.\n3. Add a collider.";
        assert!(close(worth(plan, SOURCE), 1.0));
        assert!(close(worth("1. Make the player.", SOURCE), 1.0 / 3.0));
    }

    #[test]
    fn length_repetition_and_words_without_the_program_earn_nothing() {
        let steps = "Think about everything carefully.\n".repeat(50);
        assert!(close(worth(&steps, SOURCE), 0.0));
        assert!(close(worth(&"The player moves.\n".repeat(50), SOURCE), 1.0 / 3.0));
        let long = format!("player\nphysics\ncollider\n{}", "x ".repeat(MAX_BYTES));
        assert!(close(worth(&long, SOURCE), 0.0));
    }
}
