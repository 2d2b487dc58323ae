//! Makes an index file: `make_index phaser.d.ts VERSION OUT.jsonl.gz`.

use std::io::Write;

use whetstone_core::stack::on_big_stack;
use whetstone_phaser::index::Index;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [declarations, version, out] = &arguments[..] else {
        return Err("usage: make_index phaser.d.ts VERSION OUT.jsonl.gz".into());
    };
    let text = std::fs::read_to_string(declarations)?;
    let made = on_big_stack(|stack| Index::from_declarations(&text, version, stack))??.write();
    let file = std::fs::File::create(out)?;
    let mut gzip = flate2::GzBuilder::new().mtime(0).write(file, flate2::Compression::best());
    gzip.write_all(made.as_bytes())?;
    gzip.finish()?;
    Ok(())
}
