//! Texts of mock replies: a plan and a block of JavaScript.

use whetstone_core::Task;

use super::programs::{self, IDLE, PLAIN, half_good};
use super::quality::{Quality, Trick};
use crate::random::Random;

/// What a plan says where the program uses something.
const STEPS: [(&str, &str); 9] = [
    ("physics.add", "Give moving objects arcade bodies."),
    ("overlap", "Handle the overlap in one callback."),
    ("collider", "Add a collider so that bodies do not pass through each other."),
    ("tweens.add", "Animate with a tween instead of counting frames."),
    ("keyboard", "Listen to the keyboard."),
    ("pointer", "Handle the pointer's events."),
    ("this.time", "Use the scene's clock for everything that is timed."),
    ("setText", "Keep the number in the scene and write it into the text."),
    ("cameras.main", "Move the main camera."),
];

/// Sentences that say nothing.
const FILLER: [&str; 5] = [
    "First I will think about the structure of the game and how all its parts work together.",
    "Then I will consider every possible way to draw the objects before choosing one.",
    "It is important that the code is clean, readable and easy to maintain in the future.",
    "After that I will go over the requirements again to be sure that nothing is missing.",
    "Finally I will check the result carefully and think about possible improvements.",
];

/// Sentences of a plan that is too long: about a thousand words.
const LONG_PLAN_SENTENCES: usize = 70;

/// Replies without a program.
const PROSE: [&str; 3] = [
    "I would create a scene, add the objects in create and move them in update.",
    "This can be done with arcade physics. Let me know if you want me to write the code.",
    "The game needs a player, a floor and a score. The rest follows from the documentation of Phaser.",
];

/// The text of a reply.
pub(super) fn reply(quality: Quality, task: &Task, random: &mut Random) -> String {
    let program = task.reference.as_deref().unwrap_or(PLAIN);
    let code = match quality {
        Quality::Good | Quality::LongPlan => program.to_owned(),
        Quality::Plain => PLAIN.to_owned(),
        Quality::HalfGood => half_good(program),
        Quality::Idle => IDLE.to_owned(),
        Quality::Hallucinating => programs::hallucinating(program, random),
        Quality::Broken => programs::broken(program, random),
        Quality::Hostile(Trick::Tampering) => programs::tampering(program, random),
        Quality::Hostile(Trick::EndlessLoop) => programs::endless_loop(program, random),
        Quality::NoCode => return with_plan(&plan(program), random.phrase(&PROSE)),
    };
    let plan = if quality == Quality::LongPlan { long_plan(random) } else { plan(program) };
    with_plan(&plan, &format!("```javascript\n{}\n```", code.trim_end()))
}

fn with_plan(plan: &str, answer: &str) -> String {
    format!("[PLAN]\n{plan}\n[/PLAN]\n\n{answer}\n")
}

fn plan(program: &str) -> String {
    let mut steps = vec!["Make one scene and build its objects in create."];
    let used = STEPS.iter().filter(|(word, _)| program.contains(word));
    steps.extend(used.map(|(_, step)| *step));
    steps.push("Start the game with 800 by 600 pixels.");
    let numbered = steps.iter().enumerate().map(|(at, step)| format!("{}. {step}", at + 1));
    numbered.collect::<Vec<_>>().join("\n")
}

fn long_plan(random: &mut Random) -> String {
    let sentences: Vec<&str> = (0..LONG_PLAN_SENTENCES).map(|_| random.phrase(&FILLER)).collect();
    sentences.join(" ")
}
