//! Programs of planted quality, made from a reference program by changing its lines.

use crate::random::Random;

/// A valid game that moves a square, for tasks without a reference.
pub(super) const PLAIN: &str = "\
class MainScene extends Phaser.Scene {
  constructor() {
    super('main');
  }

  create() {
    this.box = this.add.rectangle(400, 300, 40, 40, 0xff0000);
  }

  update() {
    this.box.x = (this.box.x + 2) % 800;
  }
}

new Phaser.Game({ type: Phaser.AUTO, width: 800, height: 600, scene: MainScene });
";

/// A game that shows nothing.
pub(super) const IDLE: &str = "\
class MainScene extends Phaser.Scene {
  constructor() {
    super('main');
  }

  create() {}
}

new Phaser.Game({ type: Phaser.AUTO, width: 800, height: 600, scene: MainScene });
";

/// Calls that Phaser does not have.
const INVENTED: [&str; 6] = [
    "this.add.glowingOrb(400, 300, 20);",
    "this.physics.add.magnet(400, 300, 120);",
    "this.cameras.main.wobble(200, 0.05);",
    "this.tweens.bounceForever({ duration: 300 });",
    "this.input.keyboard.whenPressed('A', () => {});",
    "this.time.everySecond(() => {});",
];

/// Lines that replace parts of the engine or of the language.
const TAMPERING: [&str; 6] = [
    "Phaser.Core.TimeStep.prototype.step = function () {};",
    "Math.random = () => 0.5;\nDate.now = () => 0;",
    "Object.prototype.passed = true;",
    "globalThis.requestAnimationFrame = () => 0;",
    "Array.prototype.filter = function () { return this; };",
    "const step = Phaser.Game.prototype.step;\nPhaser.Game.prototype.step = function (time, delta) {\n  \
     step.call(this, time, delta);\n  this.scene = { scenes: [] };\n};",
];

/// Statements that never return.
const ENDLESS: [&str; 3] = [
    "while (true) {}",
    "for (let i = 0; i >= 0; i += 1) { this.spin = i; }",
    "for (;;) Math.sqrt(2);",
];

/// The reference without its last statement; the same program if there is none that can be left out.
///
/// A statement is a line that ends with a semicolon, has balanced brackets and declares nothing.
pub fn half_good(reference: &str) -> String {
    let mut lines: Vec<&str> = reference.lines().collect();
    let Some(last) = lines.iter().rposition(|line| is_statement(line)) else {
        return reference.to_owned();
    };
    lines.remove(last);
    lines.join("\n") + "\n"
}

fn is_statement(line: &str) -> bool {
    let text = line.trim();
    let declares = ["const ", "let ", "var ", "return", "super", "new ", "import ", "}"];
    line.starts_with("    ")
        && text.ends_with(';')
        && !declares.iter().any(|word| text.starts_with(word))
        && is_balanced(text)
}

fn is_balanced(text: &str) -> bool {
    let count = |letter| text.matches(letter).count();
    [('(', ')'), ('[', ']'), ('{', '}')].iter().all(|&(open, close)| count(open) == count(close))
}

/// The program with a call that Phaser does not have.
pub(super) fn hallucinating(program: &str, random: &mut Random) -> String {
    in_create(program, random.phrase(&INVENTED))
}

/// The first part of the program, with brackets that nothing closes.
pub(super) fn broken(program: &str, random: &mut Random) -> String {
    let lines: Vec<&str> = program.lines().collect();
    let kept = lines.len() / 2 + random.below(lines.len() / 4 + 1);
    format!("{}\n    this.add.rectangle(([{{\n", lines[..kept.min(lines.len())].join("\n"))
}

/// The program behind a line that replaces what the judge relies on.
pub(super) fn tampering(program: &str, random: &mut Random) -> String {
    format!("{}\n{program}", random.phrase(&TAMPERING))
}

/// The program with a loop that does not end.
pub(super) fn endless_loop(program: &str, random: &mut Random) -> String {
    in_create(program, random.phrase(&ENDLESS))
}

/// The program with a statement at the beginning of its first `create`, or of an update that a program without
/// `create` gets.
fn in_create(program: &str, statement: &str) -> String {
    const CREATE: &str = "create() {\n";
    if program.contains(CREATE) {
        return program.replacen(CREATE, &format!("{CREATE}    {statement}\n"), 1);
    }
    PLAIN.replacen(CREATE, &format!("{CREATE}    {statement}\n"), 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_program_is_without_its_last_statement_that_declares_nothing() {
        let half = half_good(PLAIN);
        assert!(!half.contains("% 800") && half.contains("rectangle"), "{half}");
        let callback =
            "  create() {\n    f(() => {\n      a = 1;\n      const b = 2;\n    });\n  }\n";
        let expected = "  create() {\n    f(() => {\n      const b = 2;\n    });\n  }\n";
        assert_eq!(half_good(callback), expected);
        assert_eq!(half_good(IDLE), IDLE);
    }
}
