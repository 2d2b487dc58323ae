//! Expands the templates of prompt seeds into the embedded file:
//!
//! ```sh
//! cargo run -p whetstone-data --example make_prompt_seeds -- assets/phaser/prompt_seeds.jsonl
//! ```

use std::error::Error;
use std::{env, fs};

use whetstone_core::wire::Wire;
use whetstone_data::phaser::templates::{TEMPLATES, expand};

fn main() -> Result<(), Box<dyn Error>> {
    let path = env::args().nth(1).ok_or("name the file to write")?;
    let seeds = expand(TEMPLATES)?;
    let lines: Vec<String> = seeds.iter().map(|seed| seed.to_line() + "\n").collect();
    fs::write(&path, lines.concat())?;
    Ok(())
}
