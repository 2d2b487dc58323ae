//! Any bytes as an index of Phaser's API, as `--api-index` reads it: an error or an index, and a program can be
//! checked against whatever was read.

#![no_main]

use libfuzzer_sys::fuzz_target;
use whetstone_core::stack::on_big_stack;
use whetstone_phaser::check::check;
use whetstone_phaser::index::Index;

const GAME: &str = "class Main extends Phaser.Scene {
  create() { this.box = this.add.rectangle(1, 2, 3, 4); this.box.setAngle(5).setDepth(1); }
  update() { this.box.x += this.input.activePointer.x; }
}
new Phaser.Game({ scene: [Main] });";

fuzz_target!(|bytes: &[u8]| {
    if let Ok(index) = Index::read(bytes) {
        let findings = on_big_stack(|stack| check(GAME, &index, stack)).expect("a thread");
        assert!(findings.parse.ok);
    }
});
