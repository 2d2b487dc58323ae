//! The rules, as a system message for models that do not know them yet.

use super::action::USAGE;

/// The rules of an episode of so many steps.
pub(super) fn text(max_steps: usize) -> String {
    format!(
        "You repair optimization models that have no solution. You see the model, its status and an IIS \
         (irreducible infeasible subsystem: these rows and bounds conflict, and without any one of them they do not).\n\
         A model was made infeasible by a few wrong elements: a row that contradicts others, a wrong limit, sense, \
         coefficient or bound. Find them and correct them. Reaching OPTIMAL by removing rows that belong to the model \
         is worth little: the repaired model should have the solution that the intended one has.\n\
         Reply with your thinking in numbered steps inside <think> and </think>, then one line `Diagnosis: ` with the \
         names that conflict, then one line `Action: ` with one action. You have {max_steps} steps.\n\
         Actions: {}.\n\
         RELAX_CONSTRAINT moves the limit of a row outwards by a positive amount. lb(x) and ub(x) in an IIS are bounds \
         of the variable x. RESET undoes all edits. SUBMIT ends the episode.",
        USAGE.join(", ")
    )
}
