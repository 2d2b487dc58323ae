//! Templates of prompt seeds: one text with placeholders and rows of values, of which each gives a seed.
//!
//! The format is described at the head of `assets/phaser/prompt_templates.txt`. `examples/make_prompt_seeds.rs` writes
//! what [`expand`] returns, and a test compares it with the embedded file.

use whetstone_core::TaskId;
use whetstone_core::wire::Wire;

use super::fill::{Values, fill, hex};
use super::seed::PromptSeed;

/// The templates of the embedded seeds.
pub const TEMPLATES: &str = include_str!("../../../../assets/phaser/prompt_templates.txt");

/// Sentences before a prompt; the row decides.
const OPENINGS: [&str; 4] =
    ["", "Write a small Phaser game. ", "", "Build this scene with Phaser: "];
/// Sentences behind a prompt; the number of the seed decides. Checks select by class, so each asks for shape objects.
const CLOSINGS: [&str; 5] = [
    " The game is 800 by 600 pixels. Draw with Phaser's shape objects, such as add.circle, and not with Graphics.",
    " Use a canvas of 800 by 600 pixels and shape objects (add.rectangle and its like); there are no image files.",
    " The game area measures 800 by 600 pixels; everything is a shape object or a text, no images and no Graphics.",
    " Make the game 800 pixels wide and 600 high, with shape game objects instead of pictures or Graphics.",
    " Size of the game: 800 by 600. Only shape objects of Phaser and texts, please.",
];
/// What checks ask for beside the prompt, by a part of their text.
const ASKED: [(&str, &str); 2] = [
    ("\"has_body\":true", " Use arcade physics for what moves or is hit."),
    ("\"interactive\":true", " What is clicked or dragged is an interactive object."),
];

/// A template is not in the format.
#[derive(Debug, thiserror::Error)]
#[error("template `{template}`: {problem}")]
pub struct TemplateError {
    /// The template.
    pub template: String,
    /// The problem.
    pub problem: String,
}

/// A template as it is written.
#[derive(Debug, Default)]
struct Template<'a> {
    name: &'a str,
    rows: Vec<Values<'a>>,
    prompt: &'a str,
    frames: &'a str,
    input: &'a str,
    checks: &'a str,
    physics: Option<&'a str>,
    /// The whole program, or the methods of its only scene.
    program: Program<'a>,
}

#[derive(Debug, Default, Clone, Copy)]
enum Program<'a> {
    #[default]
    Missing,
    Game(&'a str),
    Scene(&'a str),
}

/// Expands templates into seeds, numbered in their order.
pub fn expand(text: &str) -> Result<Vec<PromptSeed>, TemplateError> {
    let mut seeds = Vec::new();
    for section in text.split("\n=== ").skip(1) {
        let template = Template::parse(section)?;
        for row in 0..template.rows.len() {
            seeds.push(template.seed(row, seeds.len() + 1)?);
        }
    }
    Ok(seeds)
}

impl<'a> Template<'a> {
    fn parse(section: &'a str) -> Result<Self, TemplateError> {
        let (name, mut rest) = section.split_once('\n').unwrap_or((section, ""));
        let mut template = Self { name, frames: "120", input: "[]", ..Self::default() };
        while let Some((line, behind)) = rest.split_once('\n') {
            let (key, value) = line.split_once(' ').unwrap_or((line, ""));
            match key {
                "-" => template.rows.push(Values::parse(value)),
                "prompt:" => template.prompt = value,
                "frames:" => template.frames = value,
                "input:" => template.input = value,
                "checks:" => template.checks = value,
                "physics:" => template.physics = Some(value),
                "scene:" => template.program = Program::Scene(behind.trim_end()),
                "game:" => template.program = Program::Game(behind.trim_end()),
                _ => return Err(template.error(format!("`{line}` has no known key"))),
            }
            if matches!(key, "scene:" | "game:") {
                return Ok(template);
            }
            rest = behind;
        }
        Err(template.error("there is no `scene:` and no `game:`".to_owned()))
    }

    /// The seed of a row.
    fn seed(&self, row: usize, number: usize) -> Result<PromptSeed, TemplateError> {
        let values = &self.rows[row];
        let fill = |text: &str| fill(text, values).map_err(|problem| self.error(problem));
        let prompt = capitalised(&fill(self.prompt)?).replace("A orange", "An orange");
        let prompt = prompt.replace(" a orange", " an orange");
        let asked = ASKED.iter().filter(|(part, _)| self.checks.contains(part));
        let asked: String = asked.map(|(_, sentence)| *sentence).collect();
        let colors = self.colors(values);
        let closing = CLOSINGS[number % CLOSINGS.len()];
        let game = format!(
            r#"{{"id":"x","prompt":"x","frames":{},"input":{},"checks":{}}}"#,
            self.frames,
            fill(self.input)?,
            fill(self.checks)?
        );
        let object = serde_json::from_str(&game).map_err(|err| self.error(err.to_string()))?;
        let seed = PromptSeed::from_object(object).map_err(|err| self.error(err.to_string()))?;
        let id = TaskId::try_from(format!("seed_{number:06}")).map_err(|err| self.error(err))?;
        Ok(PromptSeed {
            id,
            prompt: format!("{}{prompt}{asked}{colors}{closing}", OPENINGS[row % OPENINGS.len()]),
            family: Some(self.name.to_owned()),
            reference: Some(fill(&self.reference())?),
            ..seed
        })
    }

    /// The colours that checks ask for, as numbers: a name alone would leave them open.
    fn colors(&self, values: &Values<'_>) -> String {
        let asked =
            values.pairs().filter(|(name, _)| self.checks.contains(&format!("${name}.number")));
        let mut colors: Vec<String> =
            asked.filter_map(|(_, color)| Some(format!("{color} is {}", hex(color)?))).collect();
        colors.sort_unstable();
        match colors.as_slice() {
            [] => String::new(),
            [one] => format!(" As a fill colour, {one}."),
            several => format!(" As fill colours, {}.", several.join(" and ")),
        }
    }

    fn reference(&self) -> String {
        let methods = match self.program {
            Program::Game(text) => return format!("{text}\n"),
            Program::Scene(text) => text,
            Program::Missing => "",
        };
        let physics = self.physics.map_or(String::new(), |gravity| {
            format!("  physics: {{ default: 'arcade', arcade: {{ gravity: {{ x: 0, y: {gravity} }} }} }},\n")
        });
        format!(
            "class MainScene extends Phaser.Scene {{\n  constructor() {{\n    super('main');\n  }}\n\n{methods}\n}}\n\n\
             new Phaser.Game({{\n  type: Phaser.AUTO,\n  width: 800,\n  height: 600,\n{physics}  scene: MainScene,\n}});\n"
        )
    }

    fn error(&self, problem: String) -> TemplateError {
        TemplateError { template: self.name.to_owned(), problem }
    }
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEMPLATE: &str = "\n=== dot\n- c=red; n=2\n- c=blue; n=3\nprompt: $n dots in $c.\nchecks: \
         [{\"kind\":\"count\",\"select\":{\"color\":$c.number},\"at_least\":$n}]\nscene:\n  create() {\n    f($c.hex);\n  }\n";

    #[test]
    fn each_row_gives_a_seed_with_its_values() {
        let seeds = expand(TEMPLATE).unwrap();
        assert_eq!(seeds.len(), 2);
        let blue = &seeds[1];
        assert_eq!((blue.id.as_str(), blue.family.as_deref()), ("seed_000002", Some("dot")));
        assert!(blue.prompt.contains("3 dots in blue."), "{}", blue.prompt);
        assert!(blue.reference.as_ref().unwrap().contains("    f(0x0000ff);\n"));
        assert!(blue.prompt.contains("As a fill colour, blue is 0x0000ff."), "{}", blue.prompt);
        assert!(blue.to_line().contains(r#""color":255}"#), "{}", blue.to_line());
    }

    #[test]
    fn a_name_without_a_value_and_a_bad_check_are_errors_with_the_template() {
        let missing = expand(&TEMPLATE.replace("$n dots", "$many dots")).unwrap_err();
        assert_eq!(missing.to_string(), "template `dot`: `$many` has no value in its row");
        let bad = expand(&TEMPLATE.replace("\"count\"", "\"counts\"")).unwrap_err();
        assert!(bad.to_string().starts_with("template `dot`: field `checks`: "), "{bad}");
    }
}
