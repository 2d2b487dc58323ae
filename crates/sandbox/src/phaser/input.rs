//! Keys and pointer, scripted by frame.

use serde::{Deserialize, Serialize};

/// Events of one script, at most.
pub const EVENTS_MAX: usize = 64;

/// A script of input events, in the order of their frames.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Vec<InputEvent>", into = "Vec<InputEvent>")]
pub struct InputScript(Vec<InputEvent>);

/// One event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "RawEvent", into = "RawEvent")]
pub struct InputEvent {
    /// Frames that have passed when it happens.
    pub frame: u32,
    /// What happens.
    pub action: Action,
}

/// What happens.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// A key is pressed or released.
    Key {
        /// Its name, as in `Phaser.Input.Keyboard.KeyCodes`.
        key: String,
        /// Whether it is pressed.
        down: bool,
    },
    /// The pointer is moved, and pressed or released if that is said.
    Pointer {
        /// Its place in the game.
        x: f64,
        /// Its place in the game.
        y: f64,
        /// Whether it is pressed.
        down: Option<bool>,
    },
}

/// A key as a browser tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct KeyNames {
    pub(super) number: u32,
    pub(super) key: String,
    pub(super) code: String,
}

/// Why a script of input cannot be used.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum InputError {
    /// It is too long.
    #[error("the input has {0} events: leave at most {EVENTS_MAX}")]
    TooMany(usize),
    /// A key has no such name.
    #[error(
        "`{0}` is no key: write LEFT, RIGHT, UP, DOWN, SPACE, ENTER, SHIFT, CTRL, ALT, ESC, TAB, BACKSPACE, ZERO to NINE, A to Z or F1 to F12"
    )]
    UnknownKey(String),
    /// An event has both a key and a pointer, or neither.
    #[error("an input event has either `key` with `down`, or `pointer`")]
    NoAction,
    /// The pointer is nowhere.
    #[error("the pointer is at {0}, {1}: write numbers from -10000 to 10000")]
    Place(f64, f64),
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawEvent {
    frame: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pointer: Option<Place>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    down: Option<bool>,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Place {
    x: f64,
    y: f64,
}

impl InputScript {
    /// A script of these events.
    pub fn new(mut events: Vec<InputEvent>) -> Result<Self, InputError> {
        if events.len() > EVENTS_MAX {
            return Err(InputError::TooMany(events.len()));
        }
        events.sort_by_key(|event| event.frame);
        Ok(Self(events))
    }

    /// All events.
    pub fn events(&self) -> &[InputEvent] {
        &self.0
    }

    /// The events of one frame.
    pub(super) fn at(&self, frame: u32) -> impl Iterator<Item = &Action> {
        self.0.iter().filter(move |event| event.frame == frame).map(|event| &event.action)
    }
}

impl TryFrom<Vec<InputEvent>> for InputScript {
    type Error = InputError;

    fn try_from(events: Vec<InputEvent>) -> Result<Self, InputError> {
        Self::new(events)
    }
}

impl From<InputScript> for Vec<InputEvent> {
    fn from(script: InputScript) -> Self {
        script.0
    }
}

impl TryFrom<RawEvent> for InputEvent {
    type Error = InputError;

    fn try_from(raw: RawEvent) -> Result<Self, InputError> {
        let action = match (raw.key, raw.pointer, raw.down) {
            (Some(key), None, Some(down)) => {
                key_names(&key).ok_or_else(|| InputError::UnknownKey(key.clone()))?;
                Action::Key { key, down }
            }
            (None, Some(Place { x, y }), down) => {
                if !(x.abs() <= 1e4 && y.abs() <= 1e4) {
                    return Err(InputError::Place(x, y));
                }
                Action::Pointer { x, y, down }
            }
            _ => return Err(InputError::NoAction),
        };
        Ok(Self { frame: raw.frame, action })
    }
}

impl From<InputEvent> for RawEvent {
    fn from(event: InputEvent) -> Self {
        let frame = event.frame;
        match event.action {
            Action::Key { key, down } => {
                Self { frame, key: Some(key), pointer: None, down: Some(down) }
            }
            Action::Pointer { x, y, down } => {
                Self { frame, key: None, pointer: Some(Place { x, y }), down }
            }
        }
    }
}

/// Keys with names of their own: name, number, `event.key`, `event.code`.
const NAMED: [(&str, u32, &str, &str); 13] = [
    ("LEFT", 37, "ArrowLeft", "ArrowLeft"),
    ("UP", 38, "ArrowUp", "ArrowUp"),
    ("RIGHT", 39, "ArrowRight", "ArrowRight"),
    ("DOWN", 40, "ArrowDown", "ArrowDown"),
    ("SPACE", 32, " ", "Space"),
    ("ENTER", 13, "Enter", "Enter"),
    ("SHIFT", 16, "Shift", "ShiftLeft"),
    ("CTRL", 17, "Control", "ControlLeft"),
    ("ALT", 18, "Alt", "AltLeft"),
    ("ESC", 27, "Escape", "Escape"),
    ("TAB", 9, "Tab", "Tab"),
    ("BACKSPACE", 8, "Backspace", "Backspace"),
    ("DELETE", 46, "Delete", "Delete"),
];
const DIGITS: [&str; 10] =
    ["ZERO", "ONE", "TWO", "THREE", "FOUR", "FIVE", "SIX", "SEVEN", "EIGHT", "NINE"];

/// The key of a name, if there is one.
pub(super) fn key_names(name: &str) -> Option<KeyNames> {
    if let Some((_, number, key, code)) = NAMED.iter().find(|named| named.0 == name) {
        let (key, code) = ((*key).to_owned(), (*code).to_owned());
        return Some(KeyNames { number: *number, key, code });
    }
    if let Some(digit) = (0..).zip(DIGITS).find(|(_, digit)| *digit == name).map(|pair| pair.0) {
        return Some(KeyNames {
            number: 48 + digit,
            key: digit.to_string(),
            code: format!("Digit{digit}"),
        });
    }
    if let Some(number @ 1..=12) = name.strip_prefix('F').and_then(|rest| rest.parse::<u32>().ok())
    {
        return Some(KeyNames {
            number: 111 + number,
            key: name.to_owned(),
            code: name.to_owned(),
        });
    }
    let [letter @ b'A'..=b'Z'] = name.as_bytes() else { return None };
    let (key, code) = (name.to_lowercase(), format!("Key{name}"));
    Some(KeyNames { number: u32::from(*letter), key, code })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_read_in_the_order_of_its_frames_and_written_as_it_was() {
        let text = r#"[{"frame":50,"pointer":{"x":1.0,"y":2.0},"down":true},{"frame":30,"key":"RIGHT","down":true}]"#;
        let script: InputScript = serde_json::from_str(text).unwrap();
        assert_eq!(script.events()[0].frame, 30);
        let again = serde_json::to_string(&script).unwrap();
        assert_eq!(serde_json::from_str::<InputScript>(&again).unwrap(), script);
    }

    #[test]
    fn an_event_without_a_key_that_exists_is_refused_with_the_keys_that_do() {
        let read = |text: &str| serde_json::from_str::<InputScript>(text).unwrap_err().to_string();
        assert!(read(r#"[{"frame":1,"key":"FIRE","down":true}]"#).contains("`FIRE` is no key"));
        assert!(read(r#"[{"frame":1,"key":"A"}]"#).contains("either `key` with `down`"));
        assert!(read(r#"[{"frame":1}]"#).contains("either `key` with `down`"));
        assert!(read(r#"[{"frame":1,"pointer":{"x":1e300,"y":0}}]"#).contains("-10000 to 10000"));
        let many = vec![r#"{"frame":1,"key":"A","down":true}"#; 65].join(",");
        assert!(read(&format!("[{many}]")).contains("65 events"));
    }

    #[test]
    fn keys_have_the_numbers_that_a_browser_gives_them() {
        let number = |name| key_names(name).map(|names| names.number);
        assert_eq!(number("SPACE"), Some(32));
        assert_eq!(number("W"), Some(87));
        assert_eq!(number("NINE"), Some(57));
        assert_eq!(number("F12"), Some(123));
        assert_eq!([number("F13"), number("w"), number("")], [None; 3]);
    }
}
