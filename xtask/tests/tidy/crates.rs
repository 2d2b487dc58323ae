//! Rules on the crate graph: `crates`, `edges`, `invariants`, `dependencies`.

use super::miniature::Miniature;

const MODEL: &str = "whetstone-model = { workspace = true }\n";

#[test]
fn an_edge_that_the_map_does_not_allow_is_found() {
    Miniature::clean()
        .append("crates/extract/Cargo.toml", "whetstone-algo = { workspace = true }\n")
        .check("edges", "crates/extract/Cargo.toml", "`extract` may not depend on `algo`");
}

#[test]
fn a_build_dependency_is_an_edge_and_a_dev_dependency_is_none() {
    let table = |kind| format!("\n[{kind}]\nwhetstone-algo = {{ workspace = true }}\n");
    Miniature::clean().append("crates/extract/Cargo.toml", &table("build-dependencies")).check(
        "edges",
        "crates/extract/Cargo.toml",
        "may not depend on `algo`",
    );
    Miniature::clean().append("crates/extract/Cargo.toml", &table("dev-dependencies")).check_tidy();
}

#[test]
fn an_edge_under_another_name_is_the_same_edge() {
    Miniature::clean()
        .replace("Cargo.toml", "whetstone-algo.path", "whetstone-sums.path")
        .replace("crates/extract/Cargo.toml", "whetstone-core", "whetstone-sums")
        .check("edges", "crates/extract/Cargo.toml", "may not depend on `algo`");
}

#[test]
fn the_judge_sees_no_model_even_through_another_crate() {
    Miniature::clean()
        .append("crates/extract/Cargo.toml", MODEL)
        .replace("ARCHITECTURE.md", "replies | core |", "replies | core, model |")
        .check("invariants", "crates/env/Cargo.toml", "env → extract → model");
}

#[test]
fn the_judge_sees_no_model_even_in_its_tests() {
    Miniature::clean()
        .append("crates/env/Cargo.toml", &format!("\n[dev-dependencies]\n{MODEL}"))
        .check("invariants", "crates/env/Cargo.toml", "env → model");
}

#[test]
fn what_a_neighbour_needs_for_its_own_tests_is_not_reached() {
    Miniature::clean()
        .append("crates/extract/Cargo.toml", &format!("\n[dev-dependencies]\n{MODEL}"))
        .check_tidy();
}

#[test]
fn no_row_can_let_algo_leave_core() {
    Miniature::clean()
        .append("crates/algo/Cargo.toml", "whetstone-extract = { workspace = true }\n")
        .replace("ARCHITECTURE.md", "losses | core |", "losses | everything |")
        .check("invariants", "crates/algo/Cargo.toml", "names `extract`");
}

#[test]
fn a_crate_without_a_row_is_unlisted() {
    Miniature::clean()
        .replace("ARCHITECTURE.md", "| `model` | the decoder | all above |\n", "")
        .replace("ARCHITECTURE.md", "| HTTP | model |", "| HTTP | core |")
        .replace("Cargo.toml", "\"crates/model\",\n", "")
        .check("crates", "ARCHITECTURE.md", "unlisted crate `model`");
}

#[test]
fn a_row_without_a_crate_is_only_planned() {
    let row = "| `serve` | HTTP | model |\n";
    Miniature::clean()
        .replace("ARCHITECTURE.md", row, "")
        .replace("ARCHITECTURE.md", "all above |\n", &format!("all above |\n{row}"))
        .replace("Cargo.toml", "\"crates/model\",", "\"crates/model\", \"crates/serve\",")
        .check("crates", "ARCHITECTURE.md", "no `crates/serve/Cargo.toml`: it is planned");
}

#[test]
fn a_crate_that_is_there_is_planned_no_more() {
    Miniature::clean().append("ARCHITECTURE.md", "| `algo` | losses | core |\n").check(
        "crates",
        "ARCHITECTURE.md",
        "`algo` is there, and its row still among",
    );
}

#[test]
fn a_row_names_only_crates_with_a_row() {
    Miniature::clean()
        .replace("ARCHITECTURE.md", "losses | core |", "losses | core, tensors |")
        .check("crates", "ARCHITECTURE.md", "the row of `algo` names `tensors`");
}

#[test]
fn members_are_in_the_order_of_the_map() {
    Miniature::clean()
        .replace(
            "Cargo.toml",
            "\"crates/core\",\n\"crates/algo\"",
            "\"crates/algo\", \"crates/core\"",
        )
        .check("crates", "Cargo.toml", "[algo, core, extract, env, model]");
}

#[test]
fn a_package_is_named_as_its_folder() {
    Miniature::clean()
        .replace("crates/algo/Cargo.toml", "whetstone-algo", "whetstone-maths")
        .check("crates", "crates/algo/Cargo.toml", "call it `whetstone-algo`");
}

#[test]
fn a_map_without_its_table_is_no_map() {
    Miniature::clean()
        .replace("ARCHITECTURE.md", "| crate | what lives there |", "| crate | what it is |")
        .check("crates", "ARCHITECTURE.md", "has no table headed `| crate | what lives there");
}

#[test]
fn a_dependency_needs_a_row_whether_a_member_or_the_fuzzer_uses_it() {
    Miniature::clean().replace("docs/dependencies.md", "`serde`", "serde").check(
        "dependencies",
        "docs/dependencies.md",
        "`serde` has no row",
    );
    Miniature::clean().write("fuzz/Cargo.toml", "[dependencies]\nlibfuzzer-sys = \"0.4\"\n").check(
        "dependencies",
        "docs/dependencies.md",
        "`libfuzzer-sys` has no row",
    );
}

#[test]
fn a_row_needs_a_dependency_that_someone_uses() {
    Miniature::clean().append("docs/dependencies.md", "| `rand` | dice |\n").check(
        "dependencies",
        "docs/dependencies.md",
        "`rand` has a row, but no manifest uses it",
    );
    Miniature::clean()
        .append("docs/dependencies.md", "\n| not taken | why |\n|---|---|\n| `burn` | slow |\n")
        .check_tidy();
}

#[test]
fn versions_live_in_the_root_manifest() {
    Miniature::clean()
        .replace("crates/core/Cargo.toml", "serde = { workspace = true }", "serde = \"1\"")
        .check("dependencies", "crates/core/Cargo.toml", "`serde` is declared here");
}
