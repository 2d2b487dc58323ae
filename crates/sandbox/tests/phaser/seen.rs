//! What is seen of a game is what its engine made and what a camera shows, and not what the program writes into its
//! objects.

use whetstone_sandbox::Judge;
use whetstone_sandbox::phaser::{ObjectState, Run, Settings};

use super::{game, judges, play};

/// What is expected of the first object.
type Looks = fn(&ObjectState) -> bool;

/// A run of ten frames of a game with this `create`, with each Phaser.
fn runs(judges: &[Judge], create: &str) -> Vec<Run> {
    let settings = Settings { frames: 10, ..Settings::default() };
    let source = game(create, "");
    let run = |judge: &Judge| {
        let run = play(judge, &source, &settings);
        assert!(run.ok, "{create}: {:?}", run.error);
        run
    };
    judges.iter().map(run).collect()
}

fn first(run: &Run) -> &ObjectState {
    run.objects.first().expect("an object")
}

#[test]
fn what_a_program_writes_into_an_object_is_not_believed() {
    let judges = judges();
    let red = "const r = this.add.rectangle(100, 100, 50, 50, 0xff0000);";
    let forged: [(&str, Looks); 6] = [
        ("r.anims = {isPlaying: true, currentAnim: {key: 'walk'}};", |seen| {
            seen.animation.is_none()
        }),
        ("r.input = {enabled: true};", |seen| !seen.interactive),
        ("r.body = {velocity: {x: 1, y: 1}, isStatic: true};", |seen| seen.body.is_none()),
        ("r._text = 'pressed';", |seen| seen.text.is_none()),
        ("r.tintTopLeft = 0x00ff00;", |seen| seen.color == Some(0x00FF_0000)),
        ("this.sys.settings.key = 'GameOver';", |_| true),
    ];
    for (written, is_honest) in forged {
        for run in runs(&judges, &format!("{red} {written}")) {
            assert!(is_honest(first(&run)) && first(&run).visible, "{written}: {:?}", run.objects);
            assert_eq!(run.scenes, ["default"], "{written}");
        }
    }
    for run in runs(
        &judges,
        "const g = this.add.graphics(); g.fillColor = 0xff0000; g.fillStyle(0xff0000);",
    ) {
        let seen = first(&run);
        assert_eq!((seen.color, seen.visible), (None, false), "nothing is drawn: {seen:?}");
    }
}

#[test]
fn what_no_camera_shows_is_invisible() {
    let judges = judges();
    for hidden in [
        "this.add.rectangle(100, 100, 0, 0, 0xff0000);",
        "this.add.rectangle(-90000, -90000, 50, 50, 0xff0000);",
        "this.add.rectangle(100, 100, 50, 50, 0xff0000).setAlpha(0.002);",
        "this.add.rectangle(100, 100, 50, 50, 0xff0000); this.cameras.main.setVisible(false);",
        "this.add.rectangle(100, 100, 50, 50, 0xff0000); this.cameras.main.setZoom(0.0001);",
        "this.add.rectangle(100, 100, 50, 50, 0xff0000).setVisible(false);",
    ] {
        for run in runs(&judges, hidden) {
            let shots = run.trace.snapshots.iter().flat_map(|shot| &shot.objects);
            let all: Vec<&ObjectState> = shots.chain(&run.objects).collect();
            assert!(!all.is_empty(), "{hidden}");
            assert!(all.iter().all(|seen| !seen.visible), "{hidden}: {:?}", run.objects);
        }
    }
}

#[test]
fn what_an_honest_game_shows_is_seen() {
    let judges = judges();
    let honest: [(&str, Looks); 12] = [
        ("this.add.text(9, 9, 'hi', {color: '#ff0000'});", |seen| seen.color == Some(0x00FF_0000)),
        ("this.add.text(9, 9, 'hi', {color: '#f00'});", |seen| seen.color == Some(0x00FF_0000)),
        ("this.add.text(9, 9, 'hi').setColor('red');", |seen| seen.color == Some(0x00FF_0000)),
        ("this.add.graphics().fillStyle(0xff0000).fillRect(5, 5, 9, 9);", |seen| {
            seen.color == Some(0x00FF_0000)
        }),
        ("this.add.graphics().lineStyle(2, 0xff, 1).strokeCircle(50, 50, 9);", |seen| {
            seen.color == Some(0xFF)
        }),
        (
            "this.add.graphics().fillStyle(0xff).fillCircle(50, 50, 9).fillStyle(0xff0000).fillRect(5, 5, 9, 9);",
            |seen| seen.color == Some(0xFF) && seen.more_colors == [0x00FF_0000],
        ),
        ("this.add.rectangle(50, 50, 9, 9).setStrokeStyle(2, 0xff00);", |seen| {
            seen.color == Some(0xFF00)
        }),
        ("this.physics.add.existing(this.add.rectangle(50, 50, 9, 9, 0xff));", |seen| {
            seen.body.is_some_and(|body| !body.fixed)
        }),
        ("this.physics.add.existing(this.add.rectangle(50, 50, 9, 9, 0xff), true);", |seen| {
            seen.body.is_some_and(|body| body.fixed)
        }),
        ("this.add.rectangle(50, 50, 9, 9, 0xff).setInteractive();", |seen| seen.interactive),
        (
            "this.cameras.main.setScroll(5000, 0); this.add.text(9, 9, 'score').setScrollFactor(0);",
            |seen| seen.text.as_deref() == Some("score"),
        ),
        (
            "this.anims.create({key: 'walk', frames: [{key: '__WHITE'}], repeat: -1, frameRate: 1}); \
             this.add.sprite(50, 50, '__WHITE').play('walk');",
            |seen| seen.animation.as_deref() == Some("walk"),
        ),
    ];
    for (create, is_seen) in honest {
        for run in runs(&judges, create) {
            assert!(is_seen(first(&run)) && first(&run).visible, "{create}: {:?}", run.objects);
        }
    }
}
