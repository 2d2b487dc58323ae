//! The API index: names and signatures of one version of Phaser.
//!
//! It is made from the `phaser.d.ts` of a release and kept as JSON lines, `phaser_api.jsonl`: a header, then
//! one declaration a line in the order of paths ([`Row`]). Indexes of two releases are embedded. There is no
//! TypeScript checker here: types in that file are spelt with full paths, so their text is enough.

mod corrections;
mod declarations;
mod embedded;
mod file;
mod prune;
mod row;
pub(crate) mod table;
mod type_text;
pub(crate) mod types;

use oxc_allocator::Allocator;
use oxc_parser::Parser;
use oxc_span::{LabeledSpan, SourceType};
use sha2::{Digest, Sha256};
use whetstone_core::stack::BigStack;

pub use embedded::VERSIONS;
pub use file::{IndexError, MAX_BYTES};
pub use row::{FORMAT, Header, Kind, Member, MemberKind, Row};
use table::Tables;

/// Names and signatures of one version of Phaser, ready for lookups.
#[derive(Debug)]
pub struct Index {
    header: Header,
    rows: Vec<Row>,
    pub(crate) tables: Tables,
}

impl Index {
    /// The embedded index of a version, if there is one: `3.90.0`, `4.2.1`, or `3` and `4` for short.
    pub fn embedded(version: &str) -> Option<&'static Self> {
        embedded::get(version)
    }

    /// Makes an index from the text of a `phaser.d.ts`; `version` is that of the release, which the text
    /// does not say.
    pub fn from_declarations(
        text: &str,
        version: &str,
        _stack: &BigStack,
    ) -> Result<Self, IndexError> {
        if text.len() > MAX_BYTES {
            return Err(IndexError::TooLarge(text.len()));
        }
        let arena = Allocator::default();
        let parsed = Parser::new(&arena, text, SourceType::d_ts()).parse();
        if let Some(problem) = parsed.diagnostics.first() {
            let offset = problem.labels.first().map_or(0, LabeledSpan::offset);
            let before = text.get(..offset as usize).unwrap_or_default();
            let line = before.matches('\n').count() + 1;
            return Err(IndexError::Declarations { line, message: problem.message.to_string() });
        }
        let mut rows = declarations::Declarations::read(&parsed.program.body);
        if !rows.contains_key("Phaser") {
            return Err(IndexError::NoPhaser);
        }
        corrections::correct(&mut rows, version);
        prune::prune(&mut rows);
        let rows: Vec<Row> = rows.into_values().collect();
        let sha256 = hexadecimal(text.as_bytes());
        let header =
            Header { format: FORMAT, phaser: version.to_owned(), sha256, rows: rows.len() };
        Ok(Self::new(header, rows))
    }

    /// Reads an index file, plain or compressed by gzip.
    pub fn read(bytes: &[u8]) -> Result<Self, IndexError> {
        let (header, rows) = file::read(bytes)?;
        Ok(Self::new(header, rows))
    }

    /// The text of an index file: the same for the same declarations.
    pub fn write(&self) -> String {
        file::write(&self.header, &self.rows)
    }

    /// Refuses an index of another version of Phaser than `wanted`.
    pub fn expect_version(&self, wanted: &str) -> Result<(), IndexError> {
        if self.version() == wanted {
            return Ok(());
        }
        Err(IndexError::Version { found: self.version().to_owned(), wanted: wanted.to_owned() })
    }

    /// The version of Phaser that is described.
    pub fn version(&self) -> &str {
        &self.header.phaser
    }

    /// SHA-256 of the index file as [`Self::write`] gives it, for keys of caches.
    pub fn digest(&self) -> String {
        hexadecimal(self.write().as_bytes())
    }

    /// The first line of the file.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// All declarations, in the order of paths.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    fn new(header: Header, rows: Vec<Row>) -> Self {
        let tables = Tables::new(&rows);
        Self { header, rows, tables }
    }
}

/// SHA-256 of bytes, in hexadecimal.
fn hexadecimal(bytes: &[u8]) -> String {
    let digits = |byte: u8| {
        [byte >> 4, byte & 15].map(|half| char::from(b"0123456789abcdef"[usize::from(half)]))
    };
    Sha256::digest(bytes).into_iter().flat_map(digits).collect()
}
