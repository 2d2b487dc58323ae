//! Options of models to repair, for `whet data prepare --solver` and `--solver-models`.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use clap::{ArgGroup, Args, ValueEnum};
use whetstone_data::solver::{
    InjectionKind, MAX_STATEMENT_BYTES, ModelOptions, Names, SolverOptions, View, checked_range,
};
use whetstone_recipe::solver_tasks::{ModelsRequest, SolverRequest};

/// Infeasible models to repair, generated or of files.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("to_repair").args(["solver", "solver_models"]).multiple(true)))]
pub struct SolverArgs {
    /// Generate this many infeasible optimization models to repair, without a download
    ///
    /// Every one is certified: its base model has an optimum with a checked witness, and the broken model an IIS
    /// with an exact certificate. Families are split between training (production, transport, inventory, staffing,
    /// assignment) and validation (blending, network, scheduling).
    #[arg(long, value_name = "N")]
    pub solver: Option<usize>,

    /// Infeasible models of your own to repair: .mps or .lp files, also with .gz, or folders of them
    ///
    /// Each file is one task. A model that is feasible, too large, or on which the solver has no certified verdict
    /// is left out with the reason. A repair is paid by its size, since nothing is known of the model that was meant.
    #[arg(long, value_name = "PATH", num_args = 1..)]
    pub solver_models: Vec<PathBuf>,

    /// Longest statement of a model of `--solver-models`; larger models are left out
    #[arg(long, value_name = "BYTES", default_value_t = MAX_STATEMENT_BYTES, requires = "solver_models")]
    pub model_bytes: usize,

    /// Generate models of these families only; an unknown name lists them all
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', requires = "solver")]
    pub solver_families: Vec<String>,

    /// What makes models infeasible [default: all kinds]
    #[arg(long, value_enum, value_name = "KIND,…", value_delimiter = ',', requires = "solver")]
    pub injections: Vec<InjectionArg>,

    /// Conflicts of a model that share no row: a later one shows up only after the earlier ones are repaired
    #[arg(long, value_name = "N|A-B", default_value = "1-3", value_parser = range, requires = "solver")]
    pub conflicts: RangeInclusive<usize>,

    /// Size of models: 1 has about 6 rows, 3 about 14, 10 about 50
    #[arg(long, value_name = "N|A-B", default_value = "2-4", value_parser = range, requires = "solver")]
    pub size: RangeInclusive<usize>,

    /// Members of the IIS that is shown first
    #[arg(long, value_name = "N|A-B", default_value = "3-12", value_parser = range, requires = "solver")]
    pub iis: RangeInclusive<usize>,

    /// Forms in which models are shown [default: all; of `--solver-models`: lp]
    #[arg(long, value_enum, value_name = "FORM,…", value_delimiter = ',', requires = "to_repair")]
    pub views: Vec<ViewArg>,

    /// Names of rows and variables
    #[arg(long, value_enum, default_value_t = NamesArg::Words, value_name = "HOW", requires = "solver")]
    pub names: NamesArg,

    /// Do not show the IIS: it has to be asked for with `GET_IIS`
    #[arg(long, requires = "to_repair")]
    pub hide_iis: bool,
}

impl SolverArgs {
    /// Whether any models to repair are wanted.
    pub(super) fn is_named(&self) -> bool {
        self.solver.is_some() || !self.solver_models.is_empty()
    }

    /// The models to read.
    pub(super) fn models_request(&self) -> Option<ModelsRequest> {
        let views: Vec<View> = self.views.iter().map(|&view| view.into()).collect();
        let options = ModelOptions {
            views: if views.is_empty() { ModelOptions::default().views } else { views },
            show_iis: !self.hide_iis,
            max_bytes: self.model_bytes,
        };
        let paths = self.solver_models.clone();
        (!paths.is_empty()).then_some(ModelsRequest { paths, options })
    }

    /// The problems to generate.
    pub(super) fn request(&self) -> Option<SolverRequest> {
        let all = SolverOptions::default();
        let or_all = |given: Vec<_>, all: Vec<_>| if given.is_empty() { all } else { given };
        let injections = self.injections.iter().map(|&kind| kind.into()).collect();
        let views: Vec<View> = self.views.iter().map(|&view| view.into()).collect();
        let options = SolverOptions {
            families: self.solver_families.clone(),
            injections: or_all(injections, all.injections),
            conflicts: self.conflicts.clone(),
            size: self.size.clone(),
            iis: self.iis.clone(),
            views: if views.is_empty() { all.views } else { views },
            names: match self.names {
                NamesArg::Words => Names::Words,
                NamesArg::Plain => Names::Plain,
            },
            show_iis: !self.hide_iis,
        };
        self.solver.map(|count| SolverRequest { count, options })
    }
}

/// What makes a model infeasible.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum InjectionArg {
    /// A new row that contradicts others.
    Row,
    /// A right-hand side that is too tight.
    Limit,
    /// A sense that is the wrong way round.
    Sense,
    /// A wrong coefficient.
    Coefficient,
    /// A bound of a variable that is too tight.
    Bound,
}

impl From<InjectionArg> for InjectionKind {
    fn from(kind: InjectionArg) -> Self {
        match kind {
            InjectionArg::Row => Self::Row,
            InjectionArg::Limit => Self::Limit,
            InjectionArg::Sense => Self::Sense,
            InjectionArg::Coefficient => Self::Coefficient,
            InjectionArg::Bound => Self::Bound,
        }
    }
}

/// How a model is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ViewArg {
    /// As Python code that builds it.
    Code,
    /// As an LP file.
    Lp,
    /// As a table of coefficients.
    Table,
}

impl From<ViewArg> for View {
    fn from(view: ViewArg) -> Self {
        match view {
            ViewArg::Code => Self::Code,
            ViewArg::Lp => Self::Lp,
            ViewArg::Table => Self::Table,
        }
    }
}

/// How rows and variables are named.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum NamesArg {
    /// By their role: `demand2`, `make1`.
    Words,
    /// `c1`, `x1`.
    Plain,
}

/// `3` or `1-3`.
fn range(text: &str) -> Result<RangeInclusive<usize>, String> {
    let bad = || "expected a number such as 2, or a range such as 1-3, from 1 to 20".to_owned();
    let number = |text: &str| text.trim().parse::<usize>().map_err(|_| bad());
    let (low, high) = match text.split_once('-') {
        Some((low, high)) => (number(low)?, number(high)?),
        None => (number(text)?, number(text)?),
    };
    checked_range(low, high).map_err(|_| bad())
}
