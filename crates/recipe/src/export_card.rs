//! The model card of an exported model, from that of the adapter or the model it is made of.

use std::path::Path;

use whetstone_eval::Results;
use whetstone_record::atomic;
use whetstone_record::plain_file::read_plain;
use whetstone_train::card::{
    CARD, Front, LIMIT_BYTES, Measured, Row, licence, license_of, split, value, with_evaluations,
};

use crate::failure::Failure;
use crate::find::Found;

/// What is exported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// An adapter merged into its base, or a model without one.
    Whole,
    /// An adapter alone.
    Adapter,
}

/// A model that was exported.
pub(crate) struct Exported<'a> {
    /// What it was made of.
    pub(crate) from: &'a Found,
    pub(crate) form: Form,
    /// The base of an adapter, as its settings name it.
    pub(crate) base: Option<&'a str>,
    /// Evaluations for its card.
    pub(crate) evaluations: &'a [Measured],
}

/// Reads evaluations for a card.
///
/// # Errors
///
/// If one cannot be read.
pub(crate) fn evaluations(dirs: &[impl AsRef<Path>]) -> Result<Vec<Measured>, Failure> {
    let one = |dir: &Path| Ok(of_results(dir, &Results::read(dir)?));
    dirs.iter().map(|dir| one(dir.as_ref())).collect()
}

/// The figures of the evaluation in a directory, by whose name it is told from others of the same model.
fn of_results(dir: &Path, results: &Results) -> Measured {
    let model = shortened(&results.model);
    let name = dir.file_name().map(|name| name.to_string_lossy());
    let ks = results.pass_at_k.iter().map(|(k, estimate)| (format!("pass@{k}"), estimate));
    let greedy = results.greedy.iter().map(|estimate| ("greedy pass@1".to_owned(), estimate));
    let further = results.by_temperature.iter().flat_map(|(decoding, found)| {
        found.pass_at_k.iter().map(move |(k, estimate)| (format!("pass@{k}, {decoding}"), estimate))
    });
    let rows = ks.chain(greedy).chain(further).map(|(name, estimate)| Row {
        name,
        value: estimate.value,
        low: estimate.low,
        high: estimate.high,
    });
    let setting = |name: &str| results.settings.get(name).cloned();
    let sampled: u64 = results.verdicts.values().sum();
    let how = [
        setting("eval.temperature").map(|value| format!("temperature {value}")),
        setting("--max-tokens").map(|value| format!("at most {value} tokens")),
        Some(format!("{} of {sampled} samples cut off by that limit", results.cut_off)),
    ];
    let how: Vec<String> = how.into_iter().flatten().collect();
    Measured {
        how: how.join(", "),
        what: name.map_or_else(|| model.clone(), |name| format!("{name} (model {model})")),
        tasks: results.tasks as u64,
        samples: results.num_samples,
        suite: Some(results.suite.clone()),
        rows: rows.collect(),
    }
}

/// A model's name without the folders of this machine.
fn shortened(model: &str) -> String {
    let is_local = Path::new(model).is_absolute() || model.split('/').count() > 2;
    let last = Path::new(model).file_name().filter(|_| is_local);
    last.map_or_else(|| model.to_owned(), |name| name.to_string_lossy().into_owned())
}

/// Writes the card into the exported directory.
pub(crate) fn write(out: &Path, exported: &Exported<'_>) -> Result<(), Failure> {
    let text = text(exported);
    let written = atomic::replace(&out.join(CARD), text.as_bytes());
    written.map_err(|err| Failure::View(err.into()))
}

fn text(exported: &Exported<'_>) -> String {
    let Exported { from, form, base, evaluations } = exported;
    let own = from.adapter.as_deref().unwrap_or(&from.model);
    let card = card_of(own);
    if let (None, Some(card)) = (&from.adapter, &card) {
        // The model itself, in another form: its card is its own.
        return with_evaluations_or_none(card, evaluations);
    }
    let (head, body) = card.as_deref().map_or((None, ""), split);
    let known = |key: &str| head.and_then(|head| value(head, key));
    let license = known("license").filter(|license| license != "other");
    let license = license.or_else(|| license_of(&from.model));
    let on_the_hub = base.filter(|base| !Path::new(base).exists()).map(str::to_owned);
    let named = on_the_hub.clone().filter(|_| *form == Form::Adapter);
    let scores = known("pipeline_tag").is_some_and(|tag| tag == "text-classification");
    let front = Front {
        base_model: named.or_else(|| known("base_model")).or(on_the_hub),
        relation: if *form == Form::Adapter { "adapter" } else { "finetune" },
        library: if *form == Form::Adapter { "peft" } else { "transformers" },
        pipeline: if scores { "text-classification" } else { "text-generation" },
        license: license.clone(),
        tags: vec!["whetstone".to_owned()],
    };
    let intro = match (from.adapter.is_some(), form) {
        (true, Form::Adapter) => {
            "This is a LoRA adapter, written by `whet export` for the base model that `adapter_config.json` names."
        }
        (true, Form::Whole) => {
            "`whet export` merged a LoRA adapter into its base model; transformers loads this directory \
             (`AutoModelForCausalLM`)."
        }
        (false, _) => "Written by `whet export`; transformers loads this directory.",
    };
    let text = match (body.trim_start(), form) {
        ("", _) => format!("{intro}\n\n{}", licence(license.as_deref())),
        (body, Form::Adapter) => format!("{intro}\n\n{body}"),
        (body, Form::Whole) => of_whole(intro, body),
    };
    with_evaluations_or_none(&format!("{}\n{text}", front.text()), evaluations)
}

/// The card of a merged model. What a card of ours says of loading an adapter is not true of it.
fn of_whole(intro: &str, body: &str) -> String {
    let Some(rest) = body.strip_prefix("# LoRA adapter on ") else {
        return format!("{intro}\n\nThe adapter's own card follows.\n\n{body}");
    };
    let (base, rest) = rest.split_once('\n').unwrap_or((rest, ""));
    let sections = rest.find("\n## ").map_or("", |at| rest[at..].trim_start());
    format!("# {base} with a LoRA adapter merged into it\n\n{intro}\n\n{sections}")
}

fn with_evaluations_or_none(card: &str, evaluations: &[Measured]) -> String {
    if evaluations.is_empty() { card.to_owned() } else { with_evaluations(card, evaluations) }
}

/// The card in a model's directory.
fn card_of(model: &Path) -> Option<String> {
    let bytes = read_plain(&model.join(CARD), LIMIT_BYTES).ok()?;
    String::from_utf8(bytes).ok()
}
