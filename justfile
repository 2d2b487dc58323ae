# Short names for `cargo xtask`, for those who have just. Nothing needs it: README.md and CI call
# `cargo xtask` themselves, and tidy holds this list to the steps there.

# List the recipes
default:
    @just --list

# Every step, in order, until one fails
ci:
    cargo xtask ci

# The code is formatted
fmt:
    cargo xtask fmt

# Unit and integration tests
test:
    cargo xtask test

# The examples in doc comments
doctest:
    cargo xtask doctest

# No lint speaks, in any target
clippy:
    cargo xtask clippy

# A browser is there for the tests that look at pages
browser:
    cargo xtask browser

# Every CUDA kernel compiles
cuda:
    cargo xtask cuda

# Generated pages are current; `just docs --write` rewrites them
docs *flags:
    cargo xtask docs {{ flags }}

# Crate edges, documents and file heads
tidy:
    cargo xtask tidy

# Licences, bans and sources of dependencies
deny:
    cargo xtask deny

# Known weaknesses of dependencies; needs cargo-deny and the network
advisories:
    cargo deny check advisories

# Tests and times of the kernels on a GPU; `just gpu --bundle DIR` packs them
gpu *flags:
    cargo xtask gpu {{ flags }}

# The documents as a site in target/site; `just site --check` checks the one that is there
site *flags:
    cargo xtask site {{ flags }}

# The README's pictures, from the report of a run; `just pictures --run DIR`
pictures *flags:
    cargo xtask pictures {{ flags }}

# Benchmarks; `just bench --bench extract` runs one
bench *filter:
    cargo bench --locked --package whetstone-benches {{ filter }}

# Fuzz one target for a while; needs a nightly toolchain and cargo-fuzz
fuzz target seconds="60":
    cargo +nightly fuzz run {{ target }} -- -max_total_time={{ seconds }}
