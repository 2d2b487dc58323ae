//! Laws of settings: what is accepted reads the same everywhere, and what is shown reads back.

use proptest::prelude::*;
use whetstone_config::{Layer, Schema, load, show};
use whetstone_core::config::Config;

/// Any mix of good and bad settings: the walk over the schema and serde agree on what is a config.
fn any_setting() -> impl Strategy<Value = (String, String)> {
    let keys: Vec<_> = Schema::get().leaves().into_iter().map(|(key, _)| key).collect();
    let value = prop_oneof![
        any::<i64>().prop_map(|n| n.to_string()),
        (0..20_u8).prop_map(|n| n.to_string()),
        any::<f64>().prop_map(|x| format!("{x:?}")),
        (0.0..1.0).prop_map(|x: f64| format!("{x:?}")),
        any::<bool>().prop_map(|b| b.to_string()),
        "[a-z_0-9]{0,6}".prop_map(|s| format!("{s:?}")),
        prop::sample::select(vec!["\"bf16\"", "\"zh\"", "[1, 5]", "[\"q_proj\"]", "[]", "{}"])
            .prop_map(str::to_owned),
    ];
    (prop::sample::select(keys), value)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn what_the_check_accepts_serde_reads_the_same((key, value) in any_setting()) {
        let text = format!("{key} = {value}\n");
        let layer = Layer::File { path: "c.toml".into(), text: text.clone() };
        let typed = toml::from_str::<Config>(&text);
        match load(&[layer]) {
            Ok(loaded) => {
                let mut typed = typed.expect("serde reads it too");
                // Values of k that are not set, and need more samples than there are, are left out.
                if key != "eval.k" {
                    typed.eval.k.retain(|&k| k <= typed.eval.num_samples);
                }
                prop_assert_eq!(typed, loaded.config);
            }
            Err(problems) => {
                prop_assert!(problems.iter().all(|problem| problem.hint.is_some()));
                // What serde refuses, we refuse; we also hold the bounds.
                prop_assert!(!problems.is_empty());
            }
        }
        if toml::from_str::<Config>(&text).is_err() {
            let layer = Layer::File { path: "c.toml".into(), text };
            prop_assert!(load(&[layer]).is_err());
        }
    }

    #[test]
    fn what_is_shown_reads_back_the_same(settings in prop::collection::vec(any_setting(), 0..6)) {
        let layers: Vec<_> = settings
            .iter()
            .map(|(key, value)| Layer::Set { argument: format!("{key}={value}") })
            .collect();
        if let Ok(loaded) = load(&layers) {
            let layer = Layer::File { path: "shown.toml".into(), text: show(&loaded) };
            prop_assert_eq!(load(&[layer]).expect("what is shown is a config").config, loaded.config);
        }
    }
}
