//! The colours that an object on display is drawn with: the fill of a shape, the styles of a drawing, the style of a
//! text, the tint of a picture. A property that its class does not draw with has no colour.

use rquickjs::Object;

use super::peek::{inherited, items, number, object, own, short};
use super::trace::SHAPES;

/// Colours of an object at most.
const COLORS_MAX: usize = 8;
/// Entries of a drawing's commands that are read.
const COMMANDS_MAX: u32 = 20_000;

/// What an object is drawn with.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Drawn {
    /// Its colours, the first one drawn first.
    pub(super) colors: Vec<u32>,
    /// Whether it draws anything.
    pub(super) draws: bool,
}

/// The colours of an object of this class.
pub(super) fn of(item: &Object<'_>, kind: &str) -> Drawn {
    match kind {
        "Graphics" => drawing(item),
        "Text" => one(text(item).or_else(|| color(item, "tintTopLeft"))),
        kind if SHAPES.contains(&kind) => one(shape(item)),
        _ => one(color(item, "tintTopLeft")),
    }
}

fn one(color: Option<u32>) -> Drawn {
    Drawn { colors: color.into_iter().collect(), draws: true }
}

fn color(item: &Object<'_>, name: &str) -> Option<u32> {
    number(inherited(item, name).ok()?).map(rgb)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
fn rgb(number: f64) -> u32 {
    number as u32 & 0x00FF_FFFF
}

/// The fill of a shape, or of one without the colour of its lines.
fn shape(item: &Object<'_>) -> Option<u32> {
    let is = |name: &str| {
        inherited(item, name).ok().flatten().and_then(|value| value.as_bool()) == Some(true)
    };
    if is("isFilled") {
        return color(item, "fillColor");
    }
    if is("isStroked") { color(item, "strokeColor") } else { color(item, "fillColor") }
}

/// Of a drawing the colours with which something is filled or stroked.
fn drawing(item: &Object<'_>) -> Drawn {
    let commands = object(item, "commandBuffer").ok().flatten();
    let commands = commands.and_then(|commands| items(&commands, COMMANDS_MAX).ok());
    let numbers: Vec<f64> = commands
        .unwrap_or_default()
        .into_iter()
        .map(|item| number(Some(item)).unwrap_or(0.0))
        .collect();
    let (mut fill, mut line, mut drawn) = (None, None, Drawn::default());
    let mut at = 0;
    while let Some(&command) = numbers.get(at) {
        let argument = |index: usize| numbers.get(at + 1 + index).copied().unwrap_or(0.0);
        let Some((name, arguments)) = command_of(command) else {
            // A command of a later Phaser: what comes after it is not read.
            drawn.draws = true;
            break;
        };
        match name {
            Command::FillStyle => fill = (argument(1) > 0.0).then(|| rgb(argument(0))),
            Command::LineStyle => line = (argument(2) > 0.0).then(|| rgb(argument(1))),
            Command::Fill => drawn.with(fill),
            Command::Stroke => drawn.with(line),
            Command::Other => {}
        }
        at += 1 + arguments;
    }
    drawn
}

impl Drawn {
    fn with(&mut self, color: Option<u32>) {
        let Some(color) = color else { return };
        self.draws = true;
        if self.colors.len() < COLORS_MAX && !self.colors.contains(&color) {
            self.colors.push(color);
        }
    }
}

/// What a command of a drawing does.
#[derive(Clone, Copy)]
enum Command {
    FillStyle,
    LineStyle,
    Fill,
    Stroke,
    Other,
}

/// A command by its number, with how many arguments follow it: `gameobjects/graphics/Commands.js` of Phaser.
fn command_of(number: f64) -> Option<(Command, usize)> {
    #[expect(clippy::cast_possible_truncation, reason = "saturates")]
    Some(match number as i64 {
        0 => (Command::Other, 7),
        1 | 2 | 14 | 15 => (Command::Other, 0),
        3 => (Command::Fill, 4),
        4 | 5 | 16 | 17 => (Command::Other, 2),
        6 => (Command::LineStyle, 3),
        7 => (Command::FillStyle, 2),
        8 => (Command::Fill, 0),
        9 => (Command::Stroke, 0),
        10 => (Command::Fill, 6),
        11 => (Command::Stroke, 6),
        18 => (Command::Other, 1),
        _ => return None,
    })
}

/// The colour of a text's style.
fn text(item: &Object<'_>) -> Option<u32> {
    let style = object(item, "style").ok()??;
    parse_css(&short(&own(&style, "color").ok()??, 40)?)
}

/// A colour of CSS: `#rgb`, `#rrggbb`, with or without opacity, `rgb(…)`, or one of the sixteen names and a few more.
fn parse_css(text: &str) -> Option<u32> {
    let text = text.trim().to_ascii_lowercase();
    if let Some(digits) = text.strip_prefix('#') {
        let digits: String = match digits.len() {
            3 | 4 => digits.chars().take(3).flat_map(|digit| [digit, digit]).collect(),
            6 | 8 => digits.get(..6)?.to_owned(),
            _ => return None,
        };
        return u32::from_str_radix(&digits, 16).ok();
    }
    let inside = text.strip_prefix("rgba(").or_else(|| text.strip_prefix("rgb("));
    if let Some(inside) = inside.and_then(|inside| inside.strip_suffix(')')) {
        let parts = inside.split([',', ' ', '/']).filter(|part| !part.is_empty()).take(3);
        let bytes: Option<Vec<u8>> = parts.map(|part| part.parse().ok()).collect();
        let [red, green, blue] = <[u8; 3]>::try_from(bytes?).ok()?;
        return Some(u32::from_be_bytes([0, red, green, blue]));
    }
    NAMES.iter().find(|(name, _)| *name == text).map(|&(_, color)| color)
}

const NAMES: [(&str, u32); 24] = [
    ("aqua", 0x0000_FFFF),
    ("black", 0x0000_0000),
    ("blue", 0x0000_00FF),
    ("brown", 0x00A5_2A2A),
    ("cyan", 0x0000_FFFF),
    ("fuchsia", 0x00FF_00FF),
    ("gold", 0x00FF_D700),
    ("gray", 0x0080_8080),
    ("green", 0x0000_8000),
    ("grey", 0x0080_8080),
    ("lime", 0x0000_FF00),
    ("magenta", 0x00FF_00FF),
    ("maroon", 0x0080_0000),
    ("navy", 0x0000_0080),
    ("olive", 0x0080_8000),
    ("orange", 0x00FF_A500),
    ("pink", 0x00FF_C0CB),
    ("purple", 0x0080_0080),
    ("red", 0x00FF_0000),
    ("silver", 0x00C0_C0C0),
    ("teal", 0x0000_8080),
    ("violet", 0x00EE_82EE),
    ("white", 0x00FF_FFFF),
    ("yellow", 0x00FF_FF00),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_of_css_are_read() {
        for (text, color) in [
            ("#ff0000", Some(0xFF_0000)),
            ("#F00", Some(0xFF_0000)),
            ("#f00c", Some(0xFF_0000)),
            ("#12345678", Some(0x12_3456)),
            (" Red ", Some(0xFF_0000)),
            ("rgb(1, 2, 3)", Some(0x01_0203)),
            ("rgba(255,255,255,0.5)", Some(0xFF_FFFF)),
            ("rgb(1, 2)", None),
            ("rgb(300, 2, 3)", None),
            ("#ff", None),
            ("#éé", None),
            ("reddish", None),
        ] {
            assert_eq!(parse_css(text), color, "{text}");
        }
    }
}
