//! When output is coloured: `--color` decides, then `NO_COLOR`, `CLICOLOR_FORCE` and `CLICOLOR=0`, then
//! whether the stream is a terminal that knows colours. Help and usage errors, which clap prints, follow the same rules.

use std::ffi::{OsStr, OsString};

use clap::ValueEnum;

/// When output is coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum ColourArg {
    /// On a terminal, unless `NO_COLOR` is set; elsewhere if `CLICOLOR_FORCE` is set
    #[default]
    Auto,
    /// Into files and pipes too
    Always,
    /// Nowhere
    Never,
}

impl ColourArg {
    /// Whether a stream is coloured.
    pub(crate) fn wants(self, is_terminal: bool) -> bool {
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto => Environment::get().wants(is_terminal),
        }
    }

    /// As clap needs it for what it prints itself: before the arguments are parsed.
    pub(crate) fn before_parsing(arguments: impl IntoIterator<Item = OsString>) -> Self {
        let mut words = arguments.into_iter().take_while(|word| word != "--").peekable();
        let mut found = Self::Auto;
        while let Some(word) = words.next() {
            let value = match word.to_str() {
                Some("--color") => words.peek().and_then(|next| next.to_str()),
                Some(word) => word.strip_prefix("--color="),
                None => None,
            };
            found = value.and_then(|value| Self::from_str(value, false).ok()).unwrap_or(found);
        }
        found
    }

    /// For clap.
    pub(crate) fn of_clap(self) -> clap::ColorChoice {
        match self {
            Self::Auto => clap::ColorChoice::Auto,
            Self::Always => clap::ColorChoice::Always,
            Self::Never => clap::ColorChoice::Never,
        }
    }
}

/// Whether lines of a terminal can be changed after they are written.
pub(crate) fn can_redraw() -> bool {
    std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// The variables that programs agree on: no-color.org, bixense.com/clicolors.
#[derive(Debug, Clone, Default)]
struct Environment {
    no_color: Option<OsString>,
    clicolor_force: Option<OsString>,
    clicolor: Option<OsString>,
    term: Option<OsString>,
}

impl Environment {
    fn get() -> Self {
        let [no_color, clicolor_force, clicolor, term] =
            ["NO_COLOR", "CLICOLOR_FORCE", "CLICOLOR", "TERM"].map(std::env::var_os);
        Self { no_color, clicolor_force, clicolor, term }
    }

    fn wants(&self, is_terminal: bool) -> bool {
        let is = |value: &Option<OsString>, word: &str| value.as_deref() == Some(OsStr::new(word));
        let is_set = |value: &Option<OsString>| value.is_some() && !is(value, "");
        if is_set(&self.no_color) {
            return false;
        }
        if is_set(&self.clicolor_force) && !is(&self.clicolor_force, "0") {
            return true;
        }
        let knows_colours = is_set(&self.term) && !is(&self.term, "dumb");
        is_terminal && knows_colours && !is(&self.clicolor, "0")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a terminal and a pipe are coloured with these variables.
    fn wanted(variables: &[(&str, &str)]) -> [bool; 2] {
        let of = |name: &str| {
            let set = variables.iter().find(|(set, _)| *set == name);
            set.map(|(_, value)| OsString::from(value))
        };
        let environment = Environment {
            no_color: of("NO_COLOR"),
            clicolor_force: of("CLICOLOR_FORCE"),
            clicolor: of("CLICOLOR"),
            term: of("TERM"),
        };
        [true, false].map(|is_terminal| environment.wants(is_terminal))
    }

    #[test]
    fn variables_decide_in_the_order_that_is_customary() {
        let xterm = ("TERM", "xterm-256color");
        assert_eq!(wanted(&[xterm]), [true, false]);
        assert_eq!(wanted(&[("TERM", "dumb")]), [false, false]);
        assert_eq!(wanted(&[]), [false, false], "nothing is known of this terminal");
        assert_eq!(wanted(&[xterm, ("NO_COLOR", "1")]), [false, false]);
        assert_eq!(wanted(&[xterm, ("NO_COLOR", "")]), [true, false], "an empty one is none");
        assert_eq!(wanted(&[("CLICOLOR_FORCE", "1")]), [true, true]);
        assert_eq!(wanted(&[xterm, ("CLICOLOR_FORCE", "0")]), [true, false]);
        assert_eq!(wanted(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]), [false, false]);
        assert_eq!(wanted(&[xterm, ("CLICOLOR", "0")]), [false, false]);
    }

    #[test]
    fn the_flag_is_found_before_the_arguments_are_parsed() {
        let found =
            |line: &str| ColourArg::before_parsing(line.split_whitespace().map(OsString::from));
        assert_eq!(found("whet --color never --help"), ColourArg::Never);
        assert_eq!(found("whet doctor --color=always"), ColourArg::Always);
        assert_eq!(found("whet --color purple"), ColourArg::Auto);
        assert_eq!(found("whet generate -- --color=always"), ColourArg::Auto);
        assert_eq!(found("whet --color"), ColourArg::Auto);
    }
}
