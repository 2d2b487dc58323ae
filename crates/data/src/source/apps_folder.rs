//! APPS as its authors publish it: one folder a problem.
//!
//! `0000/` holds `question.txt` and, where the problem has them, `input_output.json`,
//! `solutions.json`, `starter_code.py` and `metadata.json` with difficulty and address. A folder
//! becomes the row that the hub would have for it.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use serde::Deserialize;
use whetstone_core::jsonl::MAX_LINE_BYTES;
use whetstone_core::wire::Object;

use super::row::brief;

/// The file that makes a folder a problem.
pub(super) const QUESTION: &str = "question.txt";

#[derive(Default, Deserialize)]
#[serde(default)]
struct Metadata {
    difficulty: Option<String>,
    url: Option<String>,
}

/// The row of a problem's folder, or the problem with it; everything read goes through `digest`.
pub(super) fn row(
    folder: &Path,
    digest: &mut blake3::Hasher,
) -> io::Result<Result<Object, String>> {
    let mut row = Object::new();
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    digest.update(name.as_bytes());
    let number = name.parse::<u64>().map_or(name, |number| number.to_string());
    row.put("problem_id", &number);
    let files = [
        ("question", QUESTION),
        ("input_output", "input_output.json"),
        ("solutions", "solutions.json"),
        ("starter_code", "starter_code.py"),
        ("metadata", "metadata.json"),
    ];
    for (column, name) in files {
        let Some(bytes) = contents(&folder.join(name))? else { continue };
        digest.update(name.as_bytes());
        digest.update(&(bytes.len() as u64).to_le_bytes());
        digest.update(&bytes);
        if bytes.len() > MAX_LINE_BYTES {
            return Ok(Err(format!("{name} is longer than {} MiB", MAX_LINE_BYTES >> 20)));
        }
        let Ok(text) = String::from_utf8(bytes) else {
            return Ok(Err(format!("{name} is not UTF-8")));
        };
        if column != "metadata" {
            row.put(column, &text);
            continue;
        }
        match serde_json::from_str::<Metadata>(&text) {
            Ok(metadata) => {
                row.put("difficulty", &metadata.difficulty);
                row.put("url", &metadata.url);
            }
            Err(err) => return Ok(Err(format!("{name}: {}", brief(&err.to_string())))),
        }
    }
    Ok(Ok(row))
}

/// A file's bytes, at most one more than the limit; `None` if there is no such file.
fn contents(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(err) if err.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(err) => return Err(err),
    };
    let mut bytes = Vec::new();
    file.take(MAX_LINE_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}
