//! An index file: written the same for the same rows, and read strictly.

use std::io::Read;

use super::row::{FORMAT, Header, Row};
use super::type_text::MAX_TYPE_CHARS;

/// Largest index file that is read, and largest declaration file.
pub const MAX_BYTES: usize = 32 << 20;

/// Most rows of an index.
const MAX_ROWS: usize = 100_000;

/// Why a declaration file or an index file is refused.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// It is too large.
    #[error(
        "the file has {0} bytes, more than {MAX_BYTES}: give Phaser's own `types/phaser.d.ts`, or an index made from it"
    )]
    TooLarge(usize),
    /// It is no declaration file.
    #[error("line {line} of the declarations does not parse: {message}")]
    Declarations {
        /// The line, from 1.
        line: usize,
        /// What the parser says.
        message: String,
    },
    /// Nothing in it belongs to Phaser.
    #[error("the declarations have no namespace `Phaser`: give Phaser's own `types/phaser.d.ts`")]
    NoPhaser,
    /// There is nothing in it.
    #[error(
        "the index is empty: its first line must be a header with `format`, `phaser`, `sha256` and `rows`"
    )]
    Empty,
    /// The header is not one.
    #[error(
        "the first line of the index is no header with `format`, `phaser`, `sha256` and `rows`"
    )]
    Header(#[source] serde_json::Error),
    /// It was made by another version of this program.
    #[error(
        "the index has format {0}, and this version reads {FORMAT}: make it again with `whet env phaser index`"
    )]
    Format(u32),
    /// It describes another version of Phaser.
    #[error(
        "the index describes Phaser {found}, and {wanted} is asked for: make one from the declarations of {wanted}"
    )]
    Version {
        /// What the header says.
        found: String,
        /// What was asked for.
        wanted: String,
    },
    /// A row does not read.
    #[error("line {line} of the index is no row")]
    Row {
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        #[source]
        source: serde_json::Error,
    },
    /// A row is larger than any row of ours.
    #[error(
        "line {line} of the index has a path or a type of more than {MAX_TYPE_CHARS} characters"
    )]
    LongText {
        /// The line, from 1.
        line: usize,
    },
    /// Two rows have one path.
    #[error(
        "line {line} of the index repeats the path of an earlier row, or is not in the order of paths"
    )]
    Order {
        /// The line, from 1.
        line: usize,
    },
    /// There are more or fewer rows than the header says.
    #[error("the index has {found} rows, and its header says {said}: the file was cut or edited")]
    Count {
        /// Rows found.
        found: usize,
        /// Rows that the header says.
        said: usize,
    },
    /// It is compressed, and does not decompress.
    #[error("the index does not decompress")]
    Compressed(#[source] std::io::Error),
}

/// The text of an index file.
pub(super) fn write(header: &Header, rows: &[Row]) -> String {
    let mut text = line(header);
    for row in rows {
        text.push_str(&line(row));
    }
    text
}

fn line(value: &impl serde::Serialize) -> String {
    let mut text = serde_json::to_string(value).expect("strings and numbers always serialise");
    text.push('\n');
    text
}

/// Reads the bytes of an index file, compressed by gzip or not.
pub(super) fn read(bytes: &[u8]) -> Result<(Header, Vec<Row>), IndexError> {
    if bytes.len() > MAX_BYTES {
        return Err(IndexError::TooLarge(bytes.len()));
    }
    if bytes.starts_with(&[0x1f, 0x8b]) {
        return read_lines(&decompress(bytes)?);
    }
    read_lines(bytes)
}

fn decompress(bytes: &[u8]) -> Result<Vec<u8>, IndexError> {
    let mut text = Vec::new();
    let limit = u64::try_from(MAX_BYTES + 1).unwrap_or(u64::MAX);
    flate2::read::GzDecoder::new(bytes)
        .take(limit)
        .read_to_end(&mut text)
        .map_err(IndexError::Compressed)?;
    if text.len() > MAX_BYTES { Err(IndexError::TooLarge(text.len())) } else { Ok(text) }
}

fn read_lines(bytes: &[u8]) -> Result<(Header, Vec<Row>), IndexError> {
    let mut lines = bytes.split(|byte| *byte == b'\n').enumerate();
    let first = lines.next().map(|(_, line)| line).filter(|line| !line.is_empty());
    let header: Header =
        serde_json::from_slice(first.ok_or(IndexError::Empty)?).map_err(IndexError::Header)?;
    if header.format != FORMAT {
        return Err(IndexError::Format(header.format));
    }
    let mut rows: Vec<Row> = Vec::with_capacity(header.rows.min(MAX_ROWS));
    for (at, line) in lines.filter(|(_, line)| !line.is_empty()) {
        let row = read_row(line, at + 1)?;
        if rows.last().is_some_and(|last| last.path >= row.path) {
            return Err(IndexError::Order { line: at + 1 });
        }
        rows.push(row);
    }
    if rows.len() != header.rows || rows.len() > MAX_ROWS {
        return Err(IndexError::Count { found: rows.len(), said: header.rows });
    }
    Ok((header, rows))
}

fn read_row(bytes: &[u8], line: usize) -> Result<Row, IndexError> {
    let row: Row =
        serde_json::from_slice(bytes).map_err(|source| IndexError::Row { line, source })?;
    if has_long_text(&row) { Err(IndexError::LongText { line }) } else { Ok(row) }
}

fn has_long_text(row: &Row) -> bool {
    let members = row.members.values();
    let types = members.flat_map(|one| one.t.iter().chain(one.cb.values()));
    let mut texts = types.chain(&row.t).chain(row.cb.values()).chain(&row.ext).chain([&row.path]);
    texts.any(|text| text.len() > MAX_TYPE_CHARS)
}
