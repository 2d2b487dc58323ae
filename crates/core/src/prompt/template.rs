//! A template: a small minijinja program that writes a prompt around a task.
//!
//! Its output is the user's message. It may also set `system` (standing instructions), `prefill` (the beginning
//! of the answer), `chat` (false: no chat template around it) and `stop` (strings that end the answer). An
//! undefined variable is an error, and it stops after a fixed number of instructions: a template may come with
//! a model of somebody else.

use std::fmt;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, State, UndefinedBehavior, Value};

use super::context::TaskContext;
use super::{Prompt, PromptError};
use crate::config::{AUTO, PromptConfig, PromptLanguage, ThinkingMode};
use crate::extract::Form;
use crate::program::Language;
use crate::task::{TaskView, VisibleTests};

/// The templates that ship with whet, by name.
pub const BUILT_IN: [(&str, &str); 6] = [
    (UNIFIED, include_str!("../../../../assets/prompts/unified.jinja")),
    ("plain", include_str!("../../../../assets/prompts/plain.jinja")),
    ("evalplus", include_str!("../../../../assets/prompts/evalplus.jinja")),
    ("qwen", include_str!("../../../../assets/prompts/qwen.jinja")),
    ("mbpp", include_str!("../../../../assets/prompts/mbpp.jinja")),
    ("completion", include_str!("../../../../assets/prompts/completion.jinja")),
];

/// The prompt of teachers and of games.
const UNIFIED: &str = "unified";

/// The name of a template of the user's.
const CUSTOM: &str = "custom";

/// Instructions that one rendering may take: a prompt takes some hundred.
const FUEL: u64 = 1_000_000;

/// The longest template.
const LIMIT_BYTES: usize = 1 << 16;

/// A problem that no task has, to see whether a template shows it.
const PROBE: &str = "the-statement-of-a-task";

const NAME: &str = "prompt";

/// A template, ready to render.
#[derive(Clone)]
pub struct PromptTemplate {
    environment: Environment<'static>,
    name: &'static str,
    settings: PromptConfig,
    digest: String,
    is_chat: bool,
    stop: Vec<String>,
}

impl PromptTemplate {
    /// The template that the settings name. Where they leave it to a student that is not known, it is that
    /// of teachers, and without thinking in tags the plain one.
    ///
    /// # Errors
    ///
    /// If there is none of that name, or it cannot be used.
    pub fn of(settings: &PromptConfig) -> Result<Self, PromptError> {
        let (name, source) = source(settings)?;
        if source.len() > LIMIT_BYTES {
            return Err(PromptError::TooLong { bytes: source.len(), limit: LIMIT_BYTES });
        }
        let mut environment = Environment::new();
        environment.set_auto_escape_callback(|_| AutoEscape::None);
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.set_syntax(syntax());
        environment.set_fuel(Some(FUEL));
        environment
            .add_template_owned(NAME, source.to_owned())
            .map_err(|err| PromptError::Syntax { problem: problem(&err) })?;
        let digest = digest(name, source, settings);
        let mut template = Self {
            environment,
            name,
            settings: settings.clone(),
            digest,
            is_chat: true,
            stop: Vec::new(),
        };
        template.probe()?;
        Ok(template)
    }

    /// The template for tasks whose replies are paid for a plan: the unified one, or the user's own.
    ///
    /// # Errors
    ///
    /// As of [`Self::of`].
    pub fn for_plans(settings: &PromptConfig) -> Result<Self, PromptError> {
        let template = Self::of(settings)?;
        if template.name == CUSTOM || template.name == UNIFIED {
            return Ok(template);
        }
        Self::of(&PromptConfig { template: UNIFIED.to_owned(), ..settings.clone() })
    }

    /// The prompt for a task.
    ///
    /// # Errors
    ///
    /// If the template fails on it.
    pub fn prompt(&self, task: TaskView<'_>) -> Result<Prompt, PromptError> {
        self.render(task, |prompt, _| prompt)
    }

    /// The prompt of a request that was made before, e.g. a trace's.
    ///
    /// # Errors
    ///
    /// If the template fails on a task of that form.
    pub fn of_request(&self, user: impl Into<String>, form: Form) -> Result<Prompt, PromptError> {
        let prompt = self.prompt(probe(form.language()))?;
        Ok(Prompt { user: user.into(), ..prompt })
    }

    /// The name of the template, and a digest of everything that decides its text: what stands in runs,
    /// traces and results.
    pub fn identity(&self) -> String {
        format!("{}-{}", self.name, self.digest)
    }

    /// Its name: `custom` if it is the user's.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Whether the model's chat template goes around it.
    pub fn is_chat(&self) -> bool {
        self.is_chat
    }

    /// Strings that end an answer.
    pub fn stop(&self) -> &[String] {
        &self.stop
    }

    /// The text of the template.
    ///
    /// # Errors
    ///
    /// If the settings name none.
    pub fn source(settings: &PromptConfig) -> Result<&str, PromptError> {
        source(settings).map(|(_, source)| source)
    }

    /// Renders a task that has a known problem, and takes what holds for all tasks.
    fn probe(&mut self) -> Result<(), PromptError> {
        for language in [Language::Python, Language::Javascript] {
            let (prompt, is_chat, stop) = self.render(probe(language), |prompt, state| {
                let is_chat = state.lookup("chat").is_none_or(|value| value.is_true());
                (prompt, is_chat, strings(state.lookup("stop")))
            })?;
            if !prompt.user.contains(PROBE) && !prompt.prefill.contains(PROBE) {
                return Err(PromptError::NoStatement);
            }
            (self.is_chat, self.stop) = (is_chat, stop);
        }
        Ok(())
    }

    fn render<T>(
        &self,
        task: TaskView<'_>,
        take: impl FnOnce(Prompt, &State<'_, '_>) -> T,
    ) -> Result<T, PromptError> {
        let failed = |err: minijinja::Error| PromptError::Render { problem: problem(&err) };
        let context = TaskContext::of(task, self.settings.language);
        let template = self.environment.get_template(NAME).map_err(failed)?;
        let rendered = template.render_captured(Value::from(Serde(&context))).map_err(failed)?;
        let state = rendered.state();
        let own = |setting: &str, name: &str| match setting {
            "" => state
                .lookup(name)
                .filter(|value| !value.is_undefined())
                .map(|value| value.to_string()),
            text => Some(text.to_owned()),
        };
        let PromptConfig { system, prefill, .. } = &self.settings;
        let prompt = Prompt {
            system: own(system, "system").unwrap_or_default(),
            prefill: own(prefill, "prefill").unwrap_or_default(),
            user: rendered.output().to_owned(),
        };
        Ok(take(prompt, state))
    }
}

impl fmt::Debug for PromptTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PromptTemplate").field(&self.identity()).finish()
    }
}

/// Name and text of the template that the settings name.
fn source(settings: &PromptConfig) -> Result<(&'static str, &str), PromptError> {
    let asked = settings.template.as_str();
    let name = match (asked, settings.thinking) {
        (AUTO, ThinkingMode::Auto | ThinkingMode::Tags) => UNIFIED,
        (AUTO, ThinkingMode::Native | ThinkingMode::Off) => "plain",
        _ => asked,
    };
    if let Some(&(name, source)) = BUILT_IN.iter().find(|(known, _)| *known == name) {
        return Ok((name, source));
    }
    let is_text = asked.contains('\n') || asked.contains("{{") || asked.contains("{%");
    if is_text {
        return Ok((CUSTOM, asked));
    }
    let known = BUILT_IN.iter().map(|(known, _)| format!("`{known}`")).collect();
    Err(PromptError::Unknown { name: asked.to_owned(), known })
}

/// The digest of everything that decides the text of a prompt.
fn digest(name: &str, source: &str, settings: &PromptConfig) -> String {
    let PromptConfig { system, thinking, prefill, language, .. } = settings;
    let language = match language {
        PromptLanguage::En => "en",
        PromptLanguage::Zh => "zh",
    };
    // The unified prompt asks for tags, also where the settings leave that to it.
    let thinking = match thinking {
        ThinkingMode::Auto if name == UNIFIED => ThinkingMode::Tags.to_string(),
        thinking => thinking.to_string(),
    };
    let mut hasher = blake3::Hasher::new();
    for part in [source, system, &thinking, prefill, language] {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    hasher.finalize().to_hex()[..16].to_owned()
}

/// Lines of blocks leave nothing behind, as in chat templates.
fn syntax() -> SyntaxConfig {
    let mut builder = SyntaxConfig::builder();
    builder.trim_blocks(true).lstrip_blocks(true);
    builder.build().expect("the default delimiters are valid")
}

/// A task with a known problem.
fn probe(language: Language) -> TaskView<'static> {
    TaskView { statement: PROBE, language, entry_point: None, visible: VisibleTests::Code(&[]) }
}

fn strings(value: Option<Value>) -> Vec<String> {
    let items = value.and_then(|value| value.try_iter().ok().map(Iterator::collect::<Vec<_>>));
    items.unwrap_or_default().iter().map(ToString::to_string).collect()
}

/// The engine's message with its place, in one line.
fn problem(err: &minijinja::Error) -> String {
    let text = crate::causes::with_causes(err);
    text.replace('\n', " ").chars().take(400).collect()
}
