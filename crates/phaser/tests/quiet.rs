//! Programs in which nothing is to be found: each is a class of false alarms.

use crate::program::{assert_unknown, findings, scene, unknown};

#[test]
fn names_that_the_program_assigns_are_allowed_everywhere() {
    assert_unknown("const s = this.add.image(1, 2, 'a'); s.speed = 5; use(s.speed);", &[]);
    assert_unknown(
        "const s = this.add.image(1, 2, 'a'); s['speed'] = 5; use(s.speed, other.speed);",
        &[],
    );
    assert_unknown("const s = this.add.image(1, 2, 'a'); s.count++; use(s.count);", &[]);
    assert_unknown(
        "const s = this.add.image(1, 2, 'a'); Object.assign(s, { hp: 1 }); use(s.hp);",
        &[],
    );
    assert_unknown(
        "for (const k of ['left', 'right']) this[k] = 1; use(this.left2, this.right2);",
        &[],
    );
    let elsewhere = "class Hero extends Phaser.GameObjects.Sprite { fire() {} }
        class Main extends Phaser.Scene { create() { this.group = this.add.group({ classType: Hero }); this.group.get().fire(); } }";
    assert!(unknown(elsewhere).is_empty());
}

#[test]
fn writing_asking_and_deleting_are_no_uses() {
    assert_unknown(
        "const s = this.add.image(1, 2, 'a'); delete s.hop; typeof s.skip; s.jump?.(); s.run;",
        &[],
    );
}

#[test]
fn private_and_universal_members_are_allowed() {
    assert_unknown(
        "const s = this.add.image(1, 2, 'a'); use(s._crop, s.hasOwnProperty('a'), s.constructor, s.toString());",
        &[],
    );
    assert_unknown(
        "use(Phaser.Class, Phaser.Physics.Matter.Matter.Bodies.circle(1, 2, 3), Phaser.Scene.prototype, Phaser.Scene.call(this));",
        &[],
    );
}

#[test]
fn members_that_declarations_leave_out_are_known() {
    assert_unknown(
        "use(this.cameras.main.matrix, new Phaser.Display.Color().r, Phaser.Scale.LANDSCAPE_SECONDARY, this.input.activePointer.midPoint);",
        &[],
    );
}

#[test]
fn a_value_of_unknown_type_has_no_findings() {
    assert_unknown(
        "const a = other(); a.b.c(); window.d.e(); this.registry.get('x').hop(); [1].hop(); 'a'.hop();",
        &[],
    );
    assert_unknown("let a = this.add.image(1, 2, 'a'); a = other(); a.hop();", &[]);
    assert_unknown("let a = this.add.image(1, 2, 'a'); [a] = other(); a.hop();", &[]);
    assert_unknown("const b = this.cache.json.get('a'); b.level.tiles.hop();", &[]);
    assert!(unknown("class Main extends Base { create() { this.hop(); } }").is_empty());
    assert!(unknown("class Main { create() { this.hop(); } }").is_empty());
    assert!(unknown("function create() { this.hop(); }").is_empty());
}

#[test]
fn a_local_of_the_name_phaser_is_not_phaser() {
    assert!(unknown("const Phaser = load(); Phaser.Hop.skip(); new Phaser.Thing();").is_empty());
    assert!(unknown("(function (Phaser) { Phaser.Hop(); })(x);").is_empty());
}

#[test]
fn what_may_be_an_heir_has_the_members_of_heirs() {
    assert_unknown("this.add.group().getChildren()[0].setVelocity(1);", &[]);
    assert_unknown(
        "this.physics.add.collider(a, b, (one) => { one.setVelocity(1); one.setText('x'); one.body.setVelocity(1); });",
        &[],
    );
    assert_unknown("this.children.list.forEach((child) => child.setTint(1));", &[]);
}

#[test]
fn a_union_has_the_members_of_all_its_parts() {
    assert_unknown(
        "this.sound.add('a').play(); use(this.sound.context, this.renderer.gl, this.renderer.gameContext);",
        &[],
    );
    assert_unknown("const s = this.sound.add('a'); s.hop();", &["Phaser.Sound.NoAudioSound.hop"]);
}

#[test]
fn plugins_that_a_program_registers_are_allowed() {
    assert_unknown(
        "this.load.scenePlugin('Rex', 'url', 'rexUI', 'rexUI'); this.rexUI.add.hop();",
        &[],
    );
    assert!(unknown("new Phaser.Game({ plugins: { scene: [{ key: 'a', plugin: P, mapping: 'toys' }] }, scene: { create() { this.toys.hop(); } } });").is_empty());
    assert_unknown(
        "Phaser.GameObjects.GameObjectFactory.register('star', f); this.add.star2; this.add.star(1, 2); this.add['star'](1);",
        &[],
    );
}

#[test]
fn scenes_and_sprites_of_other_files_may_have_more_members() {
    assert!(unknown("export default class Door extends Phaser.GameObjects.Sprite { open() { this.scene.addGold(); } }").is_empty());
    assert!(unknown("import Germ from './Germ.js'; class A extends Phaser.Scene { create() { this.physics.add.overlap(1, 2, (a) => a.isAlive); } }").is_empty());
}

#[test]
fn matter_mixes_members_into_any_game_object() {
    assert_unknown(
        "const p = this.add.polygon(1, 2, 'a'); this.matter.add.gameObject(p); p.setFriction(1); p.body.position.hop;",
        &[],
    );
    assert_unknown(
        "const p = this.add.polygon(1, 2, 'a'); p.setFriction(1);",
        &["Phaser.GameObjects.Polygon.setFriction"],
    );
}

#[test]
fn what_matter_takes_over_stays_what_it_was() {
    assert_unknown("this.matter.add.gameObject(this.add.text(1, 2, 'a')).setText('b');", &[]);
}

#[test]
fn parameters_that_the_engine_does_without_are_not_asked_for() {
    let source = scene(
        "this.add.text(1, 2); this.add.sprite(1, 2); this.physics.add.collider(g); Phaser.Geom.Rectangle.Random(r); this.add.image();",
    );
    assert!(findings(&source).api.few_args.is_empty());
}

#[test]
fn a_property_that_the_program_replaces_has_any_type() {
    assert_unknown(
        "const s = this.add.image(1, 2, 'a'); s.data = { hp: 1 }; use(s.data.level.hop);",
        &[],
    );
}
