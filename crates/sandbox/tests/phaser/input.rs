//! Keys and pointer, in the ways in which programs ask for them.

use whetstone_sandbox::phaser::{Run, Settings};

use super::{game, judges, play};

fn with_input(judge: &whetstone_sandbox::Judge, source: &str, input: &str) -> Run {
    let input = serde_json::from_str(input).expect("a script of input");
    let run = play(judge, source, &Settings { input, ..Settings::default() });
    assert!(run.ok, "{run:?}");
    run
}

const RIGHT: &str =
    r#"[{"frame":30,"key":"RIGHT","down":true},{"frame":60,"key":"RIGHT","down":false}]"#;

/// How far the first object had come by then.
fn x(run: &Run, frame: u32) -> f64 {
    let shot = run.trace.snapshots.iter().find(|shot| shot.frame == frame);
    shot.expect("a snapshot").objects[0].x
}

#[test]
fn a_key_that_is_held_moves_what_asks_for_it() {
    let ways = [
        (
            "this.cursors = this.input.keyboard.createCursorKeys();",
            "if (this.cursors.right.isDown) this.box.x += 2;",
        ),
        (
            "this.right = this.input.keyboard.addKey('RIGHT');",
            "if (this.right.isDown) this.box.x += 2;",
        ),
        (
            "this.keys = this.input.keyboard.addKeys({ go: Phaser.Input.Keyboard.KeyCodes.RIGHT });",
            "if (this.keys.go.isDown) this.box.x += 2;",
        ),
        (
            "this.input.keyboard.on('keydown-RIGHT', () => { this.go = true; }); this.input.keyboard.on('keyup-RIGHT', () => { this.go = false; });",
            "if (this.go) this.box.x += 2;",
        ),
        (
            "window.addEventListener('keydown', (e) => { if (e.key === 'ArrowRight') this.go = true; }); window.addEventListener('keyup', () => { this.go = false; });",
            "if (this.go) this.box.x += 2;",
        ),
    ];
    for judge in judges() {
        for (create, update) in ways {
            let source = game(
                &format!("this.box = this.add.rectangle(100, 100, 20, 20, 0xff);{create}"),
                update,
            );
            let run = with_input(&judge, &source, RIGHT);
            assert_eq!(x(&run, 30), 100.0, "{create}");
            let moved = x(&run, 120) - 100.0;
            assert!((56.0..=64.0).contains(&moved), "{create}: {moved}");
            assert_eq!(x(&run, 120), x(&run, 70), "{create}");
        }
    }
}

#[test]
fn the_pointer_presses_moves_and_drags() {
    let input = r#"[{"frame":20,"pointer":{"x":300,"y":200},"down":true},
        {"frame":24,"pointer":{"x":350,"y":260}},
        {"frame":30,"pointer":{"x":350,"y":260},"down":false}]"#;
    let ways = [
        ("this.input.on('pointerdown', (p) => { this.box.x = p.x; this.box.y = p.y; });", 300.0),
        (
            "this.box.setPosition(300, 200).setInteractive(); this.box.on('pointerdown', () => { this.box.x = 1; });",
            1.0,
        ),
        (
            "this.box.setPosition(300, 200).setInteractive({ draggable: true }); this.input.on('drag', (p, o, x, y) => { o.x = x; o.y = y; });",
            350.0,
        ),
        ("this.input.on('pointerup', (p) => { this.box.x = 2; });", 2.0),
        (
            "this.box.setPosition(10, 10).setInteractive(); this.box.on('pointerdown', () => { this.box.x = 1; });",
            10.0,
        ),
    ];
    for judge in judges() {
        for (create, expected) in ways {
            let source = game(
                &format!("this.box = this.add.rectangle(100, 100, 40, 40, 0xff);{create}"),
                "",
            );
            let run = with_input(&judge, &source, input);
            assert_eq!(x(&run, 120), expected, "{create}");
        }
    }
}

#[test]
fn a_key_is_just_down_once() {
    let source = game(
        "this.box = this.add.rectangle(100, 100, 20, 20, 0xff); this.space = this.input.keyboard.addKey(Phaser.Input.Keyboard.KeyCodes.SPACE);",
        "if (Phaser.Input.Keyboard.JustDown(this.space)) this.box.x += 7;",
    );
    let input =
        r#"[{"frame":30,"key":"SPACE","down":true},{"frame":50,"key":"SPACE","down":false}]"#;
    for judge in judges() {
        assert_eq!(x(&with_input(&judge, &source, input), 120), 107.0);
    }
}
