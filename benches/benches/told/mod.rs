//! What a benchmark measured: as JSON where that is asked for, else as a table.

use serde_json::Value;

pub(crate) fn tell(measured: &Value) {
    if std::env::args().any(|arg| arg == "--json") {
        println!("{measured:#}");
        return;
    }
    for (name, value) in measured.as_object().into_iter().flatten() {
        println!("{name:<36} {value:>12}");
    }
}
