//! Reads MPS files line by line, in time linear in their size.

use std::collections::HashMap;

use super::bounds::Bounds;
use super::error::{bad_bound, bad_row, twice, unknown, unknown_section};
use super::fields::{Entries, Layout};
use super::row::RowDraft;
use super::section::Section;
use crate::format::{FormatError, add_constant, check_name, check_size, coefficient, limit, shown};
use crate::model::{Kind, Model, Objective, Row, Term, Variable};

/// Reads a model from the text of an MPS file, in free or in fixed format.
///
/// The text is read as free format first. Where that fails, fixed format is tried, in which names may hold spaces;
/// if that fails too, the error is the one that is further down in the file.
pub fn read_mps(text: &str) -> Result<Model, FormatError> {
    check_size(text)?;
    read_as(text, Layout::Free).or_else(|free| {
        read_as(text, Layout::Fixed)
            .map_err(|fixed| if fixed.line > free.line { fixed } else { free })
    })
}

fn read_as(text: &str, layout: Layout) -> Result<Model, FormatError> {
    let mut reader = Reader::new(layout);
    let mut last = 0;
    for (index, line) in text.lines().enumerate() {
        last = index + 1;
        if line.starts_with('*') || line.trim().is_empty() {
            continue;
        }
        reader.line(line, last)?;
        if reader.section == Section::End {
            return reader.finish(last);
        }
    }
    let problem = format!("the file ends within {}, expected ENDATA", reader.section.name());
    Err(FormatError::new(
        last.max(1),
        problem,
        "the file was cut off: copy it again, or add ENDATA",
    ))
}

/// Where a row of the file goes.
#[derive(Clone, Copy)]
enum Target {
    Objective,
    Row(usize),
}

struct Reader<'a> {
    layout: Layout,
    section: Section,
    model: Model,
    targets: HashMap<&'a str, Target>,
    has_objective: bool,
    rows: Vec<RowDraft>,
    columns: HashMap<&'a str, usize>,
    bounds: Vec<Bounds>,
    /// The kind of the columns that follow, by the markers so far.
    kind: Kind,
    constant: Option<f64>,
    /// Whether the objective has a coefficient of the last column.
    has_cost: bool,
    /// The names of the sets of right-hand sides, ranges and bounds: one of each is read.
    sets: HashMap<&'static str, &'a str>,
}

impl<'a> Reader<'a> {
    fn new(layout: Layout) -> Self {
        Self {
            layout,
            section: Section::Start,
            model: Model::new(Objective::Minimize),
            targets: HashMap::new(),
            has_objective: false,
            rows: Vec::new(),
            columns: HashMap::new(),
            bounds: Vec::new(),
            kind: Kind::Continuous,
            constant: None,
            has_cost: false,
            sets: HashMap::new(),
        }
    }

    fn line(&mut self, text: &'a str, line: usize) -> Result<(), FormatError> {
        if !text.starts_with([' ', '\t']) {
            return self.header(text, line);
        }
        match self.section {
            Section::Start | Section::End => Err(FormatError::new(
                line,
                format!("`{}` before any section", shown(text.trim())),
                "the file begins with NAME and ROWS, each at the start of its line",
            )),
            Section::Sense => self.sense(text.trim(), line),
            Section::Rows => self.row(text, line),
            Section::Columns => self.column(text, line),
            Section::Rhs => self.rhs(text, line),
            Section::Ranges => self.range(text, line),
            Section::Bounds => self.bound(text, line),
        }
    }

    fn header(&mut self, text: &'a str, line: usize) -> Result<(), FormatError> {
        let (keyword, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let rest = rest.trim();
        self.section = match keyword.to_ascii_uppercase().as_str() {
            "MAX" | "MIN" if self.section == Section::Sense => {
                self.sense(keyword, line)?;
                Section::Sense
            }
            "NAME" => {
                check_name(rest, line)?;
                rest.clone_into(&mut self.model.name);
                self.section
            }
            "OBJSENSE" | "OBJSENS" if rest.is_empty() => Section::Sense,
            "OBJSENSE" | "OBJSENS" => {
                self.sense(rest, line)?;
                Section::Sense
            }
            "ROWS" => Section::Rows,
            "COLUMNS" => Section::Columns,
            "RHS" => Section::Rhs,
            "RANGES" => Section::Ranges,
            "BOUNDS" => Section::Bounds,
            "ENDATA" => Section::End,
            _ => return Err(unknown_section(keyword, line)),
        };
        Ok(())
    }

    fn sense(&mut self, text: &str, line: usize) -> Result<(), FormatError> {
        self.model.objective = match text.to_ascii_uppercase().as_str() {
            "MAX" | "MAXIMIZE" | "MAXIMISE" => Objective::Maximize,
            "MIN" | "MINIMIZE" | "MINIMISE" => Objective::Minimize,
            _ => {
                let problem = format!("sense `{}` of the objective", shown(text));
                return Err(FormatError::new(line, problem, "expected MAX or MIN"));
            }
        };
        Ok(())
    }

    fn row(&mut self, text: &'a str, line: usize) -> Result<(), FormatError> {
        let fields = self.layout.split(text, line)?;
        let fields: Vec<&str> = fields.into_iter().filter(|field| !field.is_empty()).collect();
        let [kind, name] = fields[..] else { return Err(bad_row(text, line)) };
        check_name(name, line)?;
        let target = match kind {
            "N" | "n" if !self.has_objective => Target::Objective,
            "N" | "n" | "L" | "l" | "G" | "g" | "E" | "e" => Target::Row(self.rows.len()),
            _ => return Err(bad_row(text, line)),
        };
        if self.targets.insert(name, target).is_some() {
            return Err(twice("row", name, line));
        }
        match target {
            Target::Objective => self.has_objective = true,
            Target::Row(_) => self.rows.push(RowDraft::new(name, kind)),
        }
        Ok(())
    }

    fn column(&mut self, text: &'a str, line: usize) -> Result<(), FormatError> {
        if let Some(kind) = marker(text, line)? {
            self.kind = kind;
            return Ok(());
        }
        let entries = self.layout.entries(text, line)?;
        if entries.owner.is_empty() || entries.pairs.is_empty() {
            let problem = format!("`{}` is no line of COLUMNS", shown(text.trim()));
            return Err(FormatError::new(line, problem, "expected a column, a row and a number"));
        }
        let column = self.column_index(entries.owner, line)?;
        for entry in entries.pairs {
            let target = self.target(entry.row, line)?;
            self.coefficient(column, target, coefficient(entry.number, line)?)
                .ok_or_else(|| twice("coefficient in row", entry.row, line))?;
        }
        Ok(())
    }

    /// The index of a column: the last one, or a new one.
    fn column_index(&mut self, name: &'a str, line: usize) -> Result<usize, FormatError> {
        let next = self.model.variables.len();
        match self.columns.get(name) {
            Some(index) if index + 1 == next => return Ok(*index),
            Some(_) => return Err(twice("column", name, line)),
            None => check_name(name, line)?,
        }
        self.columns.insert(name, next);
        self.bounds.push(Bounds::new(self.kind));
        self.has_cost = false;
        let (cost, lower, upper) = (0.0, 0.0, f64::INFINITY);
        let name = name.to_owned();
        self.model.variables.push(Variable { name, cost, lower, upper, kind: self.kind });
        Ok(next)
    }

    /// Sets a coefficient; `None` if it is there already.
    fn coefficient(&mut self, column: usize, target: Target, value: f64) -> Option<()> {
        match target {
            Target::Objective => {
                let is_new = !std::mem::replace(&mut self.has_cost, true);
                self.model.variables[column].cost = value;
                is_new.then_some(())
            }
            Target::Row(row) => {
                let draft = &mut self.rows[row];
                let is_new = std::mem::replace(&mut draft.last_column, column) != column;
                if value != 0.0 {
                    draft.row.terms.push(Term { variable: column, coefficient: value });
                }
                is_new.then_some(())
            }
        }
    }

    fn rhs(&mut self, text: &'a str, line: usize) -> Result<(), FormatError> {
        let entries = self.layout.entries(text, line)?;
        self.one_set("RHS", &entries, line)?;
        for entry in entries.pairs {
            let value = limit(entry.number, line)?;
            let place = match self.target(entry.row, line)? {
                Target::Objective => &mut self.constant,
                Target::Row(row) => &mut self.rows[row].rhs,
            };
            if place.replace(value).is_some() {
                return Err(twice("right-hand side of row", entry.row, line));
            }
        }
        Ok(())
    }

    fn range(&mut self, text: &'a str, line: usize) -> Result<(), FormatError> {
        let entries = self.layout.entries(text, line)?;
        self.one_set("RANGES", &entries, line)?;
        for entry in entries.pairs {
            let value = limit(entry.number, line)?;
            // A range of the objective has no meaning, and files have them.
            if let Target::Row(row) = self.target(entry.row, line)?
                && self.rows[row].range.replace(value).is_some()
            {
                return Err(twice("range of row", entry.row, line));
            }
        }
        Ok(())
    }

    fn bound(&mut self, text: &'a str, line: usize) -> Result<(), FormatError> {
        let bound = self.layout.bound(text, line)?;
        let kind = bound.kind.to_ascii_uppercase();
        let has_number = Bounds::needs_number(&kind);
        let (set, column, number) = match (&bound.fields[..], has_number) {
            ([set, column, number], _) => (*set, *column, *number),
            ([column, number], true) => ("", *column, *number),
            ([set, column], false) if self.columns.contains_key(column) => (*set, *column, "0"),
            ([column] | [column, _], false) => ("", *column, "0"),
            _ => return Err(bad_bound(text, line)),
        };
        let owner = Entries { owner: set, pairs: Vec::new() };
        self.one_set("BOUNDS", &owner, line)?;
        let number = if has_number { limit(number, line)? } else { 0.0 };
        let Some(column) = self.columns.get(column) else {
            return Err(unknown("column", column, line));
        };
        self.bounds[*column].apply(&kind, number, line)
    }

    fn target(&self, row: &str, line: usize) -> Result<Target, FormatError> {
        self.targets.get(row).copied().ok_or_else(|| unknown("row", row, line))
    }

    fn one_set(
        &mut self,
        section: &'static str,
        entries: &Entries<'a>,
        line: usize,
    ) -> Result<(), FormatError> {
        let first = self.sets.entry(section).or_insert(entries.owner);
        if *first == entries.owner {
            return Ok(());
        }
        let problem = format!(
            "{section} has a second set `{}` beside `{}`",
            shown(entries.owner),
            shown(first)
        );
        Err(FormatError::new(line, problem, "keep one set: a model has one right-hand side"))
    }

    fn finish(mut self, line: usize) -> Result<Model, FormatError> {
        for (variable, bounds) in self.model.variables.iter_mut().zip(&self.bounds) {
            (variable.lower, variable.upper) = (bounds.lower(), bounds.upper());
            variable.kind = bounds.kind;
        }
        let rows: Result<Vec<Row>, FormatError> =
            self.rows.into_iter().map(|draft| draft.finish(line)).collect();
        self.model.rows = rows?;
        let constant = -self.constant.unwrap_or(0.0);
        if !constant.is_finite() {
            let problem = format!("the objective has the constant {constant}");
            return Err(FormatError::new(line, problem, "give its row a finite right-hand side"));
        }
        add_constant(&mut self.model, constant);
        Ok(self.model)
    }
}

/// The kind of the columns after a marker; `None` if the line is none.
fn marker(text: &str, line: usize) -> Result<Option<Kind>, FormatError> {
    let mut fields = text.split_whitespace().skip(1);
    if fields.next() != Some("'MARKER'") {
        return Ok(None);
    }
    match fields.next() {
        Some("'INTORG'") => Ok(Some(Kind::Integer)),
        Some("'INTEND'") => Ok(Some(Kind::Continuous)),
        other => {
            let problem = format!("marker `{}`", shown(other.unwrap_or_default()));
            Err(FormatError::new(line, problem, "expected 'INTORG' or 'INTEND'"))
        }
    }
}
