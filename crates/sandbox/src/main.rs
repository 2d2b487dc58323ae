//! The judge's processes without the rest of `whet`: for the tests of this crate.

fn main() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    whetstone_sandbox::entry::run(&arguments)
}
