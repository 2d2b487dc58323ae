//! The objects that a check looks at.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use whetstone_sandbox::phaser::ObjectState;
use whetstone_sandbox::phaser::trace::{SHAPES, TEXTS};

/// Classes that show a texture.
const PICTURES: [&str; 6] =
    ["Image", "NineSlice", "PathFollower", "RenderTexture", "Sprite", "TileSprite"];
/// The objects that a check looks at: those which are to be seen and fit every field.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Select {
    /// Classes of Phaser, or `shape`, `picture`, `text` and `thing`, which is all that is no text.
    #[serde(default, rename = "type", skip_serializing_if = "Vec::is_empty")]
    pub types: Vec<String>,
    /// Whether it has a physics body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub has_body: Option<bool>,
    /// Whether its body is one that never moves by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fixed: Option<bool>,
    /// Whether it takes input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interactive: Option<bool>,
    /// Words in its text, whatever their case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text_contains: Option<String>,
    /// Its colour or tint, `0xrrggbb` as a number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub color: Option<u32>,
}

/// Names that may stand in `type` beside those of classes.
const GROUPS: [&str; 4] = ["shape", "picture", "text", "thing"];
/// Other classes of objects on display.
const OTHERS: [&str; 8] =
    ["Blitter", "Container", "DOMElement", "Graphics", "Layer", "ParticleEmitter", "Rope", "Zone"];

impl Select {
    /// A name in `type` that stands for nothing.
    pub(super) fn unknown_type(&self) -> Option<&str> {
        let known = |name: &str| {
            [&GROUPS[..], &SHAPES, &PICTURES, &TEXTS, &OTHERS].concat().contains(&name)
        };
        self.types.iter().map(String::as_str).find(|name| !known(name))
    }

    /// Whether it takes this object.
    pub(super) fn takes(&self, object: &ObjectState) -> bool {
        let is = |wanted: Option<bool>, found: bool| wanted.is_none_or(|wanted| wanted == found);
        object.visible
            && object.alpha > 0.0
            && (self.types.is_empty() || self.types.iter().any(|name| is_of(object, name)))
            && is(self.has_body, object.body.is_some())
            && is(self.fixed, object.body.is_some_and(|body| body.fixed))
            && is(self.interactive, object.interactive)
            && self.text_contains.as_ref().is_none_or(|words| has_words(object, words))
            && self.color.is_none_or(|color| has_color(object, color))
    }

    /// Itself in words, as a plural.
    pub(super) fn words(&self) -> String {
        let mut words = match self.types.as_slice() {
            [] => "objects".to_owned(),
            types => types.iter().map(|name| plural(name)).collect::<Vec<_>>().join(" or "),
        };
        let with = |is: bool| if is { "with" } else { "without" };
        if let Some(body) = self.has_body {
            let _ = write!(words, " {} a body", with(body));
        }
        if let Some(fixed) = self.fixed {
            words += if fixed { " that are fixed" } else { " that are not fixed" };
        }
        if let Some(interactive) = self.interactive {
            words += if interactive { " that take input" } else { " that take no input" };
        }
        if let Some(text) = &self.text_contains {
            let _ = write!(words, " with the text “{text}”");
        }
        if let Some(color) = self.color {
            let _ = write!(words, " of the colour #{color:06x}");
        }
        words
    }
}

fn plural(name: &str) -> String {
    match name {
        "Graphics" => "Graphics".to_owned(),
        name => format!("{name}s"),
    }
}

fn is_of(object: &ObjectState, name: &str) -> bool {
    let kind = object.kind.as_str();
    match name {
        "shape" => SHAPES.contains(&kind) || kind == "Graphics",
        "picture" => PICTURES.contains(&kind),
        "text" => TEXTS.contains(&kind),
        "thing" => !TEXTS.contains(&kind) && !matches!(kind, "Zone" | "Layer"),
        name => kind == name,
    }
}

fn has_color(object: &ObjectState, color: u32) -> bool {
    object.color == Some(color) || object.more_colors.contains(&color)
}

fn has_words(object: &ObjectState, words: &str) -> bool {
    let text = object.text.as_deref().unwrap_or_default();
    text.to_lowercase().contains(&words.to_lowercase())
}
