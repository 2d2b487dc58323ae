//! Honest programs.

use whetstone_sandbox::phaser::{FailureClass, Run, Settings, SourceKind, Stage};

use super::{game, judges, play};

const FALLS: &str = "this.box = this.add.rectangle(100 + Math.random() * 100, 50, 20, 20, 0xff0000);\
    this.physics.add.existing(this.box); this.box.body.setCollideWorldBounds(true);";

fn without_costs(run: Run) -> Run {
    Run { cpu_ms: 0.0, memory: 0, ..run }
}

#[test]
fn a_game_runs_for_all_its_frames_and_is_seen() {
    for judge in judges() {
        let run = play(&judge, &game(FALLS, ""), &Settings::default());
        assert!(run.ok, "{run:?}");
        assert_eq!((run.stage, run.frames), (Stage::Done, 120));
        assert_eq!(run.objects[0].kind, "Rectangle");
        assert!(run.objects[0].y > 400.0, "{:?}", run.objects);
        assert_eq!((run.trace.width, run.trace.height), (800.0, 600.0));
        let frames: Vec<u32> = run.trace.snapshots.iter().map(|shot| shot.frame).collect();
        assert_eq!(frames.first(), Some(&1));
        assert_eq!(frames.last(), Some(&120));
        assert!(run.memory > 1 << 20 && run.cpu_ms > 0.0);
    }
}

#[test]
fn the_same_seed_gives_the_same_run_and_another_seed_another() {
    for judge in judges() {
        let with = |seed| {
            let settings = Settings { seed, ..Settings::default() };
            without_costs(play(&judge, &game(FALLS, ""), &settings))
        };
        assert_eq!(with(7), with(7));
        assert_ne!(with(7).objects[0].x.to_bits(), with(8).objects[0].x.to_bits());
    }
}

#[test]
fn modules_import_phaser_as_a_whole_or_by_name() {
    for judge in judges() {
        let settings = Settings { kind: SourceKind::Module, ..Settings::default() };
        for import in [
            "import Phaser from 'phaser';",
            "import { Scene, Game } from 'phaser';",
            "import * as Phaser from 'phaser';",
        ] {
            let (scene, made) = if import.contains("Scene") {
                ("Scene", "Game")
            } else {
                ("Phaser.Scene", "Phaser.Game")
            };
            let source = format!(
                "{import}\nclass M extends {scene} {{ create() {{ this.add.text(0, 0, 'hi'); }} }}\nnew {made}({{ scene: M }});"
            );
            let run = play(&judge, &source, &settings);
            assert!(run.ok, "{import}: {run:?}");
            assert_eq!(run.objects[0].text.as_deref(), Some("hi"));
        }
    }
}

#[test]
fn a_fault_has_its_line_and_its_stage() {
    for judge in judges() {
        let run = |source: &str| play(&judge, source, &Settings::default());
        let loading = run("const a = 1;\nnull.x;");
        assert_eq!((loading.stage, loading.line), (Stage::Load, Some(2)));
        let creating = run(&game("this.add.nothing(1);", ""));
        assert_eq!((creating.class, creating.line), (Some(FailureClass::Fault), Some(2)));
        assert!(creating.error.as_deref().unwrap().contains("TypeError"), "{creating:?}");
        let later = run(&game("this.n = 0;", "if (++this.n === 50) { missing(); }"));
        assert_eq!((later.stage, later.line), (Stage::Frames, Some(3)));
        assert!((49..52).contains(&later.frames), "{}", later.frames);
        let nothing = run("const a = 1;");
        assert!(nothing.error.as_deref().unwrap().contains("new Phaser.Game"), "{nothing:?}");
    }
}

#[test]
fn files_are_blank_and_are_told() {
    let source = "class M extends Phaser.Scene {\n\
        preload() { this.load.image('a', 'a.png'); this.load.spritesheet('s', 's.png', { frameWidth: 16, frameHeight: 24 }); this.load.atlas('t', 't.png', 't.json'); }\n\
        create() { this.add.image(1, 1, 'a'); this.add.sprite(2, 2, 's', 5); this.add.sprite(3, 3, 't', 'walk/1');\n\
        this.anims.create({ key: 'walk', frames: this.anims.generateFrameNumbers('s', { start: 0, end: 3 }), frameRate: 8, repeat: -1 });\n\
        this.add.sprite(4, 4, 's').play('walk'); } }\n\
        new Phaser.Game({ scene: M });";
    for judge in judges() {
        let run = play(&judge, source, &Settings::default());
        assert!(run.ok, "{run:?}");
        assert_eq!(run.assets, ["a.png", "s.png", "t.json", "t.png"]);
        assert_eq!(run.objects[3].animation.as_deref(), Some("walk"));
        assert_eq!((run.objects[1].width, run.objects[1].height), (16.0, 24.0));
    }
}

#[test]
fn textures_are_made_by_drawing_and_matter_moves_what_it_holds() {
    let source = "class M extends Phaser.Scene {\n\
        create() { const g = this.add.graphics(); g.fillStyle(0xff0000); g.fillRect(0, 0, 16, 16); g.generateTexture('red', 16, 16); g.destroy();\n\
        this.matter.add.image(100, 50, 'red'); this.matter.add.gameObject(this.add.text(300, 60, 'falls')); } }\n\
        new Phaser.Game({ width: 400, height: 300, physics: { default: 'matter' }, scene: M });";
    for judge in judges() {
        let run = play(&judge, source, &Settings::default());
        assert!(run.ok, "{run:?}");
        let [image, text] = run.objects.as_slice() else { panic!("{run:?}") };
        assert_eq!((image.kind.as_str(), image.texture.as_deref()), ("Image", Some("red")));
        assert!(image.y > 100.0 && text.y > 100.0, "{image:?} {text:?}");
        assert!(image.body.is_some() && text.body.is_some());
    }
}

#[test]
fn timers_tweens_containers_and_other_scenes_are_live() {
    let source = "class A extends Phaser.Scene { constructor() { super('a'); }\n\
        create() { const c = this.add.container(100, 100, [this.add.circle(10, 20, 5, 0x00ff00)]);\n\
        this.tweens.add({ targets: c, x: 300, alpha: 0.5, angle: 90, duration: 500 });\n\
        this.time.delayedCall(1000, () => this.scene.start('b')); setTimeout(() => { c.y = 200; }, 100); } }\n\
        class B extends Phaser.Scene { constructor() { super('b'); } create() { this.cameras.main.startFollow(this.add.star(900, 900, 5, 10, 20)); } }\n\
        new Phaser.Game({ width: 400, height: 300, scene: [A, B] });";
    for judge in judges() {
        let run = play(&judge, source, &Settings::default());
        assert!(run.ok, "{run:?}");
        let at = |frame| run.trace.snapshots.iter().find(|shot| shot.frame == frame).unwrap();
        let [container, circle] = at(45).objects.as_slice() else { panic!("{:?}", at(45)) };
        assert_eq!((container.x, container.y, container.alpha), (300.0, 200.0, 0.5));
        assert_eq!((circle.x, circle.y, circle.color), (310.0, 220.0, Some(0xff00)));
        assert_eq!(at(45).scenes, ["a"]);
        assert_eq!(run.scenes, ["b"]);
        assert_eq!(at(120).scroll, [700.0, 750.0]);
    }
}
