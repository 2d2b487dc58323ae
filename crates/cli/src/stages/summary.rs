//! The stages as a table.

use std::fmt::Write;

use whetstone_recipe::stages::StagesEnd;
use whetstone_recipe::text::duration;
use whetstone_record::stages::{StageFigure, StageState};

/// The table.
pub(super) fn text(end: &StagesEnd) -> String {
    let width = end.stages.iter().map(|stage| stage.name.len()).max().unwrap_or(0).max(5);
    let mut text =
        format!("{:<width$}  {:<9}  {:<7}  {:>8}  figures\n", "stage", "kind", "state", "time");
    for stage in &end.stages {
        let state = match stage.state {
            StageState::Waiting => "waiting",
            StageState::Begun => "begun",
            StageState::Done => "done",
        };
        let time = if stage.state == StageState::Waiting {
            String::new()
        } else {
            duration(stage.seconds)
        };
        let figures: Vec<String> = stage.figures.iter().map(figure).collect();
        let line = format!(
            "{:<width$}  {:<9}  {state:<7}  {time:>8}  {}",
            stage.name,
            stage.kind,
            figures.join(", ")
        );
        let _ = writeln!(text, "{}", line.trim_end());
    }
    let _ = writeln!(text, "\nrun   {}", end.run);
    if let Some(page) = &end.page {
        let _ = writeln!(text, "page  {page}");
    }
    text
}

fn figure(figure: &StageFigure) -> String {
    let StageFigure { name, value, interval } = figure;
    match interval {
        Some([low, high]) => format!("{name} {value:.3} [{low:.3}, {high:.3}]"),
        None if value.fract() == 0.0 => format!("{name} {value:.0}"),
        None => format!("{name} {value:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use whetstone_record::stages::StageRecord;

    use super::*;

    #[test]
    fn every_stage_has_its_line_with_state_time_and_figures() {
        let figure =
            |name: &str, value, interval| StageFigure { name: name.to_owned(), value, interval };
        let stage = |name: &str, state, figures| StageRecord {
            name: name.to_owned(),
            kind: "eval".to_owned(),
            state,
            seconds: 3.0,
            figures,
            ..StageRecord::default()
        };
        let stages = vec![
            stage(
                "a",
                StageState::Done,
                vec![figure("pass@1", 0.25, Some([0.125, 0.5])), figure("tasks", 9.0, None)],
            ),
            stage("later", StageState::Waiting, Vec::new()),
        ];
        let (run, page) = ("runs/x".to_owned(), Some("runs/x/report.html".to_owned()));
        let end = StagesEnd { v: 1, done: false, stopped: false, run, stages, page };
        let expected = "\
stage  kind       state        time  figures
a      eval       done          3 s  pass@1 0.250 [0.125, 0.500], tasks 9
later  eval       waiting

run   runs/x
page  runs/x/report.html
";
        assert_eq!(text(&end), expected);
    }
}
