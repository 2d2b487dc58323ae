//! Games that do what their task asks pass its checks, and those that only seem to do not.
//!
//! Phaser is no part of this repository: its package is looked for in `WHET_PHASER_TGZ`, and without it
//! this test says that it is skipped. The binary is its own judge: it is started again as supervisor and
//! zygote, which the usual test harness would not allow.

#![expect(clippy::print_stdout, reason = "a test with a `main` of its own reports")]

use std::env;
use std::path::Path;
use std::time::Duration;

use whetstone_env::phaser::checks::{CheckOutcome, GameTask};
use whetstone_env::phaser::{Program, observe};
use whetstone_sandbox::job::Limits;
use whetstone_sandbox::phaser::{SourceKind, install};
use whetstone_sandbox::{Judge, Options, entry};

const TEST: &str = "games_are_told_from_those_that_only_seem_to_be";

fn main() -> Result<(), String> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    if matches!(arguments.first().map(String::as_str), Some("supervise" | "zygote")) {
        return entry::run(&arguments);
    }
    // What cargo-nextest asks a test binary for.
    if arguments.iter().any(|argument| argument == "--list") {
        if !arguments.iter().any(|argument| argument == "--ignored") {
            println!("{TEST}: test");
        }
        return Ok(());
    }
    let archives = env::var("WHET_PHASER_TGZ").unwrap_or_default();
    for archive in archives.split(':').filter(|path| !path.is_empty()) {
        games_are_told_from_those_that_only_seem_to_be(Path::new(archive));
    }
    if archives.is_empty() {
        println!("{TEST}: skipped, as WHET_PHASER_TGZ names no package of Phaser");
    }
    Ok(())
}

/// A task, and programs with the number of its checks that each passes.
struct Case {
    task: &'static str,
    programs: &'static [(&'static str, usize)],
}

const CASES: [Case; 3] = [
    // The right arrow key moves a box.
    Case {
        task: r#"{"input": [{"frame": 30, "key": "RIGHT", "down": true}, {"frame": 60, "key": "RIGHT", "down": false}],
            "checks": [{"kind": "moves", "select": {"type": ["thing"]}, "direction": "right", "by": 40,
                        "during": {"from": 30, "to": 65}, "needs_input": true}]}"#,
        programs: &[
            (
                "create() { this.b = this.add.rectangle(99, 99, 9, 9, 1); this.c = this.input.keyboard.createCursorKeys(); } update() { if (this.c.right.isDown) this.b.x += 3; }",
                1,
            ),
            (
                "create() { this.b = this.add.rectangle(99, 99, 9, 9, 1); } update() { this.b.x += 3; }",
                0,
            ),
            (
                "create() { this.b = this.add.rectangle(99, 99, 9, 9, 1); } update() { this.b.x = Math.random() * 800; this.b.y = Math.random() * 600; }",
                0,
            ),
            ("create() { this.add.text(9, 9, 'RIGHT'); }", 0),
            ("create() {}", 0),
            (
                "create() { this.input.keyboard.on('keydown', () => { throw new Error('no'); }); this.b = this.add.rectangle(99, 99, 9, 9, 1); }",
                0,
            ),
        ],
    },
    // A sprite falls and stops at the floor.
    Case {
        task: r#"{"checks": [{"kind": "stops", "select": {"has_body": true, "fixed": false}, "by": 100, "below": 500},
                             {"kind": "stays_inside", "select": {"has_body": true}, "by": 100}]}"#,
        programs: &[
            (
                "create() { const b = this.add.rectangle(99, 99, 30, 30, 1); this.physics.add.existing(b); b.body.setCollideWorldBounds(true); }",
                2,
            ),
            (
                "create() { const b = this.add.rectangle(99, 99, 30, 30, 1); this.physics.add.existing(b); }",
                0,
            ),
            (
                "create() { const b = this.add.rectangle(99, 560, 30, 30, 1); this.physics.add.existing(b, true); }",
                0,
            ),
            (
                "create() { this.b = this.physics.add.existing(this.add.rectangle(99, 99, 30, 30, 1)); } update() { this.b.y = Math.random() * 500; }",
                1,
            ),
        ],
    },
    // Clicking a circle raises the score; a coin that is touched disappears and counts.
    Case {
        task: r#"{"input": [{"frame": 40, "pointer": {"x": 400, "y": 300}, "down": true}, {"frame": 42, "pointer": {"x": 400, "y": 300}, "down": false}],
            "checks": [{"kind": "number_rises", "select": {"type": ["text"]}, "needs_input": true},
                       {"kind": "touch_then", "first": {"has_body": true}, "second": {"type": ["Arc"]}, "then": {"kind": "count_changes", "select": {"type": ["Arc"]}, "way": "falls"}}]}"#,
        programs: &[
            (
                "create() { this.n = 0; const t = this.add.text(9, 9, 'Score: 0'); this.add.rectangle(400, 300, 60, 60, 1).setInteractive().on('pointerdown', () => t.setText('Score: ' + (++this.n)));\
              const p = this.add.rectangle(50, 500, 30, 30, 2); this.physics.add.existing(p); p.body.setAllowGravity(false).setVelocityX(200);\
              const coin = this.add.circle(200, 500, 10, 3); this.physics.add.existing(coin); coin.body.setAllowGravity(false); this.physics.add.overlap(p, coin, () => coin.destroy()); }",
                2,
            ),
            (
                "create() { this.n = 0; this.t = this.add.text(9, 9, 'Score: 0'); this.add.circle(200, 500, 10, 3); } update() { this.t.setText('Score: ' + (++this.n)); }",
                0,
            ),
        ],
    },
];

fn games_are_told_from_those_that_only_seem_to_be(archive: &Path) {
    let data = tempfile::tempdir().expect("a folder");
    let this = env::current_exe().expect("a running test has a path");
    let mut options = Options::new(vec![this.to_string_lossy().into_owned()]);
    options.phaser = Some(install(archive, data.path()).expect("Phaser is installed"));
    let judge = Judge::start(&options).expect("programs can be held here");
    let limits = Limits { cpu: Duration::from_secs(5), memory: 256 << 20 };
    for case in &CASES {
        let task: GameTask = serde_json::from_str(case.task).expect("a task");
        for (body, expected) in case.programs {
            let source = format!(
                "class Main extends Phaser.Scene {{ {body} }}\nnew Phaser.Game({{ width: 800, height: 600, \
                 physics: {{ default: 'arcade', arcade: {{ gravity: {{ y: 600 }} }} }}, scene: Main }});"
            );
            let program = Program { source: &source, kind: SourceKind::Script, seed: 7, limits };
            let seen = observe(&judge, program, &task).expect("nothing is broken");
            let passed = seen.checks.iter().filter(|check| check.outcome == CheckOutcome::Passed);
            assert_eq!(passed.count(), *expected, "{body}: {:?} {:?}", seen.checks, seen.run.error);
        }
    }
    println!("{TEST}: ok");
}
