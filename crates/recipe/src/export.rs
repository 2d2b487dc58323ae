//! A LoRA adapter merged into its base model, or rewritten for another name of it.

use std::path::{Path, PathBuf};

use whetstone_core::config::Config;
use whetstone_model::ExportOptions;
use whetstone_model::adapter::AdapterSettings;
use whetstone_model::decoder::{Decoder, LoadOptions, WeightFormat};
use whetstone_model::prompting::{PROMPT_FILE, recording};
use whetstone_model::weights::Dtype;

use crate::device;
use crate::export_card::{self, Exported, Form};
use crate::failure::Failure;
use crate::find::{Around, Found, find};
use crate::model_failure::ModelFailure;
use crate::observer::Observer;
use crate::prompting;

/// A model to write.
#[derive(Debug, Clone, Copy)]
pub struct ExportRequest<'a> {
    /// The model, an adapter or a run.
    pub model: &'a str,
    /// The adapter that is merged into it.
    pub adapter: Option<&'a Path>,
    /// The directory, which does not exist yet.
    pub out: &'a Path,
    /// Writes the adapter itself, for this base.
    pub base_model: Option<&'a str>,
    /// Type of the stored weights.
    pub dtype: Dtype,
    /// Directories of evaluations whose figures the model card gets.
    pub evaluations: &'a [PathBuf],
}

/// Writes a model, or its adapter alone; returns the number of parameters.
///
/// # Errors
///
/// If the model cannot be read, or the directory cannot be written.
pub fn run(request: &ExportRequest<'_>, observer: &dyn Observer) -> Result<usize, Failure> {
    let evaluations = export_card::evaluations(request.evaluations)?;
    let config = Config::default();
    let found = find(request.model, &Around::of(&config, observer))?;
    let found = found.with_adapter(request.adapter)?;
    let model = found.open()?;
    let device = device::cpu(Some(1))?;
    let options = LoadOptions { weights: WeightFormat::Trainable, positions: 1 };
    let mut decoder = Decoder::load(&device, &model.config, model.weights.as_ref(), options)
        .map_err(ModelFailure::from)?;
    let settings = found.adapter.as_deref().map(|dir| decoder.load_adapter(dir)).transpose();
    let settings = settings.map_err(ModelFailure::from)?;
    let (all, trained) = decoder.parameters().count();
    let Some(base) = request.base_model else {
        let options = ExportOptions { dtype: request.dtype, ..ExportOptions::default() };
        decoder.export_merged(&model, request.out, options).map_err(ModelFailure::from)?;
        let base = settings.and_then(|settings| settings.base);
        let (form, base) = (Form::Whole, base.as_deref());
        let exported = Exported { from: &found, form, base, evaluations: &evaluations };
        write_prompt(request.out, &found)?;
        write_card(request.out, &exported)?;
        return Ok(all);
    };
    let known = settings.ok_or(Failure::Usage {
        problem: "`--base-model` names the base of an adapter, and this model has no adapter",
        hint: "name an adapter or a run, or leave `--base-model` out",
    })?;
    // A relative path would be taken for a name on the hub wherever it does not lead somewhere.
    let base = std::path::absolute(base)
        .ok()
        .filter(|path| path.exists())
        .map_or_else(|| base.to_owned(), |path| path.display().to_string());
    let base = base.as_str();
    let settings = AdapterSettings { base: Some(base.to_owned()), ..known };
    decoder.export_adapter(&settings, request.out, Dtype::F32).map_err(ModelFailure::from)?;
    let (form, base) = (Form::Adapter, Some(base));
    let exported = Exported { from: &found, form, base, evaluations: &evaluations };
    write_prompt(request.out, &found)?;
    write_card(request.out, &exported)?;
    Ok(trained)
}

/// Writes the prompt that the model was trained with, if that is known.
fn write_prompt(out: &Path, from: &Found) -> Result<(), Failure> {
    let Some(prompt) = prompting::recorded_beside(from)? else { return Ok(()) };
    let path = out.join(PROMPT_FILE);
    std::fs::write(&path, recording(&prompt))
        .map_err(|source| Failure::io(format!("cannot write `{}`", path.display()), source))
}

/// Writes the card. Without it the directory is removed, so that the same command can be given again.
fn write_card(out: &Path, exported: &Exported<'_>) -> Result<(), Failure> {
    export_card::write(out, exported).inspect_err(|_| {
        let _ = std::fs::remove_dir_all(out);
    })
}
