//! Placeholders of templates and their values.

/// Colours that prompts name.
const COLORS: [(&str, u32); 16] = [
    ("red", 0x00ff_0000),
    ("green", 0x0000_aa00),
    ("blue", 0x0000_00ff),
    ("yellow", 0x00ff_ff00),
    ("orange", 0x00ff_8800),
    ("purple", 0x0080_00c0),
    ("white", 0x00ff_ffff),
    ("grey", 0x0077_7777),
    ("cyan", 0x0000_ffff),
    ("magenta", 0x00ff_00ff),
    ("pink", 0x00ff_88bb),
    ("gold", 0x00ff_d700),
    ("lime", 0x0000_ff00),
    ("brown", 0x008b_5a2b),
    ("black", 0x0000_0000),
    ("navy", 0x0000_0080),
];

/// The values of one row.
#[derive(Debug, Default)]
pub(super) struct Values<'a>(Vec<(&'a str, &'a str)>);

impl<'a> Values<'a> {
    /// Reads `name=value; name=value`.
    pub(super) fn parse(row: &'a str) -> Self {
        let pairs = row.split("; ").filter_map(|pair| pair.split_once('='));
        let mut pairs: Vec<_> = pairs.map(|(name, value)| (name.trim(), value)).collect();
        // Of two names that begin alike, the longer one is meant.
        pairs.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        Self(pairs)
    }

    /// Each name with its value.
    pub(super) fn pairs(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.0.iter().copied()
    }

    /// The value that a text begins with the name of, with the rest of the text.
    fn find<'t>(&self, text: &'t str) -> Option<(&'a str, &'t str)> {
        self.0.iter().find_map(|(name, value)| Some((*value, text.strip_prefix(name)?)))
    }
}

/// The number of a colour as it is written in programs.
pub(super) fn hex(name: &str) -> Option<String> {
    COLORS.iter().find(|(known, _)| *known == name).map(|(_, color)| format!("{color:#08x}"))
}

/// Replaces placeholders by values, in which there may be placeholders again.
pub(super) fn fill(text: &str, values: &Values<'_>) -> Result<String, String> {
    let once = fill_once(text, values)?;
    if once == text { Ok(once) } else { fill_once(&once, values) }
}

fn fill_once(text: &str, values: &Values<'_>) -> Result<String, String> {
    let mut parts = text.split('$');
    let mut filled = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        if !part.starts_with(|letter: char| letter.is_ascii_lowercase()) {
            filled.push('$');
            filled.push_str(part);
            continue;
        }
        let (value, rest) = values.find(part).ok_or_else(|| {
            let name: String = part.chars().take_while(char::is_ascii_alphanumeric).collect();
            format!("`${name}` has no value in its row")
        })?;
        filled.push_str(&suffixed(value, rest)?);
    }
    Ok(filled)
}

/// A value with what stands behind its name; `.hex` and `.number` turn a colour into a number.
fn suffixed(value: &str, rest: &str) -> Result<String, String> {
    let color = || {
        let known = COLORS.iter().find(|(name, _)| *name == value);
        known.map(|(_, color)| *color).ok_or_else(|| format!("`{value}` is not a known colour"))
    };
    if let Some(rest) = rest.strip_prefix(".hex") {
        return Ok(format!("{:#08x}{rest}", color()?));
    }
    if let Some(rest) = rest.strip_prefix(".number") {
        return Ok(format!("{}{rest}", color()?));
    }
    Ok(format!("{value}{rest}"))
}
