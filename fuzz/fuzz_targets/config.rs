//! Any text as a config file or a stage file: nothing panics, serde agrees with what the check accepts, and what is
//! shown of it reads back the same.

#![no_main]

use libfuzzer_sys::fuzz_target;
use whetstone_config::{Layer, StageFile, load, show};
use whetstone_core::config::Config;

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let _ = load(&[Layer::Set { argument: text.to_owned() }]);
    if let Ok(file) = StageFile::parse("stages.toml".into(), text.to_owned()) {
        for at in 0..file.stages.len() {
            let _ = load(&file.layers(at));
            let _ = file.stages[at].options::<toml::Table>();
        }
    }
    let layer = Layer::File { path: "config.toml".into(), text: text.to_owned() };
    match load(&[layer]) {
        Err(problems) => assert!(!problems.is_empty()),
        Ok(loaded) => {
            // The check accepts other names for some keys, which serde alone does not.
            if let Ok(config) = toml::from_str::<Config>(text) {
                assert_eq!(config, loaded.config);
            }
            let layer = Layer::File { path: "shown.toml".into(), text: show(&loaded) };
            assert_eq!(load(&[layer]).expect("a config").config, loaded.config);
        }
    }
});
