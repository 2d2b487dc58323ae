//! Programs that are out to break the check.

use proptest::prelude::*;

use crate::program::{findings, scene};

/// As many repetitions as fit into a program.
fn fill(start: &str, piece: &str, end: &str) -> String {
    format!("{start}{}{end}", piece.repeat((65_000 - start.len() - end.len()) / piece.len()))
}

#[test]
fn nesting_without_brackets_is_read_on_the_big_stack() {
    for (start, piece, end) in [
        ("x=", "!", "1"),
        ("x=", "a?", "1"),
        ("x=", "a=>", "1"),
        ("x=", "a+", "1"),
        ("x=", "a.", "b"),
        ("x=a", "()", ""),
        ("x=a", "[0]", ""),
        ("x=", "new ", "A"),
        ("x=", "a=", "1"),
        ("", "if(a)", ";"),
        ("", "if(a);else ", ";"),
        ("x=", "a?b:", "1"),
        ("x=", "a??", "b"),
        ("x=", "typeof ", "a"),
        ("", "a:{", ""),
        ("x=`", "${`", ""),
        ("", "class A extends A{}", ""),
        ("", "async(", ""),
    ] {
        let _ = findings(&fill(start, piece, end));
        let _ = findings(&format!("{start}{}{end}", piece.repeat(400)));
    }
}

#[test]
fn long_chains_and_lists_on_known_types_end() {
    for (start, piece, end) in [
        ("this.add.image(1,2,'a')", ".setDepth(1)", ".hop()"),
        ("this.a=this.add.image(1,2,'a')", ";this.a=this.a.setDepth(1)", ""),
        ("", "this.x=this.y;this.y=this.x;", ""),
        ("let a=this;", "a=a.scene.scene;", ""),
        ("f({", "a(){this.b},", "});"),
        ("f(", "(a)=>a.b,", "1);"),
        ("function f(a){return f(a)}", "f(f);", ""),
        ("const o={", "a:this.add,", "};o.a.hop();"),
        ("", "this.input.on('x',f,this);function f(p){p.x}", ""),
        ("use(this", "+this.add", ")"),
        ("let g=this.add.group();", "g.get().setVelocity(1);", ""),
    ] {
        let found = findings(&scene(&fill(start, piece, end)));
        assert!(found.parse.ok, "{piece}: {:?}", found.parse.errors);
    }
}

#[test]
fn a_class_that_extends_itself_ends() {
    assert!(
        findings(
            "class A extends B { x() { this.y(); } } class B extends A { x() { super.y(); } }"
        )
        .parse
        .ok
    );
    assert!(findings("class A extends A { x() { this.y(); } }").parse.ok);
}

const GAME: &str = "class Main extends Phaser.Scene {
  preload() { this.load.image('a', 'a.png'); }
  create() {
    const { width: w } = this.scale;
    this.player = this.physics.add.sprite(w / 2, 20, 'a').setBounce(0.2);
    this.stars = this.physics.add.group({ key: 'a', repeat: 3 });
    this.stars.children.iterate((star) => { star.setBounceY(1); });
    this.physics.add.overlap(this.player, this.stars, this.collect, null, this);
    this.input.on('pointerdown', function (p) { this.player.x = p.x; }, this);
    [1, ...[2]].map(async (x = 1) => { await x?.y; });
  }
  collect(player, star) { star.disableBody(true, true); }
  update(time, delta) { for (const s of this.stars.getChildren()) s.x += delta; }
}
const game = new Phaser.Game({ type: Phaser.AUTO, scene: [Main, { create }] });
function create() { this.add.text(1, 2, `a${game}`); }
";

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "\\PC{0,200}") {
        let _ = findings(&text);
    }

    #[test]
    fn no_damage_to_a_program_makes_it_panic(from in 0..GAME.len(), length in 0..80_usize, to in 0..GAME.len()) {
        let piece = GAME.get(from..(from + length).min(GAME.len())).unwrap_or("");
        let source = format!("{}{piece}{}", &GAME[..to], &GAME[to..]);
        let _ = findings(&source);
        let cut = format!("{}{}", &GAME[..from], GAME.get(from + length..).unwrap_or(""));
        let _ = findings(&cut);
    }

    #[test]
    fn programs_of_words_of_the_language_do_not_make_it_panic(words in proptest::collection::vec(
        prop_oneof![
            Just("this"), Just("Phaser"), Just("."), Just("add"), Just("("), Just(")"), Just("{"), Just("}"),
            Just("=>"), Just("="), Just(";"), Just("class A extends "), Just("Scene"), Just("a"), Just("new "),
            Just("function f"), Just("[0]"), Just("scene:"), Just(","), Just("create"), Just("return "), Just("?."),
        ], 0..60)) {
        let _ = findings(&words.concat());
    }
}

#[test]
fn the_undamaged_program_has_no_findings() {
    let found = findings(GAME);
    assert!(
        found.parse.ok && found.api.unknown.is_empty() && found.api.few_args.is_empty(),
        "{found:?}"
    );
    assert!(found.api.resolved > 25, "{}", found.api.resolved);
}
