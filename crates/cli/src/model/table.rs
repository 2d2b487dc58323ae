//! The description of a model as text.

use whetstone_model::describe::{Architecture, Bytes, Memory};

use super::info::Info;

/// The whole page.
pub(super) fn text(info: &Info) -> String {
    let mut lines = vec![info.model.clone()];
    lines.extend(facts(info).into_iter().map(|(name, value)| format!("  {name:<14} {value}")));
    lines.push(String::new());
    lines.extend(memory(&info.memory));
    lines.join("\n") + "\n"
}

fn facts(info: &Info) -> Vec<(&'static str, String)> {
    let architecture = &info.architecture;
    let parameters = &info.parameters;
    let of_each = |(name, count): (&&str, &usize)| format!("{name} ({count})");
    let dtypes: Vec<String> = info.file.dtypes.iter().map(of_each).collect();
    vec![
        ("family", architecture.family.to_owned()),
        (
            "layers",
            format!(
                "{}, {} wide, ffn {}",
                architecture.layers, architecture.width, architecture.ffn
            ),
        ),
        ("heads", heads(architecture)),
        (
            "vocabulary",
            format!(
                "{}, of which the tokenizer uses {}",
                architecture.vocabulary, architecture.tokens
            ),
        ),
        ("head", if architecture.tied_head { "the embedding" } else { "its own" }.to_owned()),
        (
            "rope",
            format!("theta {}, scaling {}", architecture.rope_theta, architecture.rope_scaling),
        ),
        ("context", architecture.context.to_string()),
        (
            "bos, eos",
            format!(
                "{}, {}",
                architecture.bos.map_or("none".to_owned(), |id| id.to_string()),
                list(&architecture.eos)
            ),
        ),
        ("chat template", if architecture.chat_template { "yes" } else { "no" }.to_owned()),
        ("tensors", format!("{}, {} MiB", dtypes.join(", "), mebibytes(info.file.bytes))),
        (
            "parameters",
            format!(
                "{}: {} of embedding and head, {} without",
                grouped(parameters.total),
                grouped(parameters.embedding),
                grouped(parameters.without_embedding)
            ),
        ),
    ]
}

fn heads(architecture: &Architecture) -> String {
    let norm = if architecture.qk_norm { ", queries and keys normed" } else { "" };
    let bias = if architecture.qkv_bias { ", with biases" } else { "" };
    format!(
        "{} of {}, {} of keys and values{norm}{bias}",
        architecture.heads, architecture.head_size, architecture.kv_heads
    )
}

fn list(ids: &[u32]) -> String {
    let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
    if ids.is_empty() { "none".to_owned() } else { ids.join(" ") }
}

/// A column for each purpose, a row for each part.
fn memory(memory: &Memory) -> Vec<String> {
    type Part = (&'static str, fn(&Bytes) -> u64);
    const PARTS: [Part; 9] = [
        ("weights", |part| part.weights),
        ("gradients", |part| part.gradients),
        ("optimizer", |part| part.optimizer),
        ("kept by layers", |part| part.kept),
        ("temporary", |part| part.temporary),
        ("logits", |part| part.logits),
        ("keys, values", |part| part.keys_values),
        ("tables", |part| part.tables),
        ("total", |part| part.total),
    ];
    let Memory { batch, length, lora_rank, eight_bit, purposes } = memory;
    let bytes = if *eight_bit { ", projections as bytes" } else { "" };
    let head = format!("memory in MiB for {batch} x {length} tokens, lora rank {lora_rank}{bytes}");
    let row = |name: &str, cells: Vec<String>| {
        let cells: Vec<String> = cells.iter().map(|cell| format!("{cell:>15}")).collect();
        format!("  {name:<14} {}", cells.join(" "))
    };
    let titles = purposes.iter().map(|memory| memory.purpose.to_owned()).collect();
    let mut lines = vec![head, row("", titles)];
    for (name, part) in PARTS {
        lines.push(row(name, purposes.iter().map(|memory| mebibytes(part(memory))).collect()));
    }
    if *eight_bit {
        lines.push("  full training needs projections as numbers: leave `--8bit` out".to_owned());
    }
    lines
}

/// With one digit after the point, or `-` for nothing.
pub(super) fn mebibytes(bytes: u64) -> String {
    let tenths = (u128::from(bytes) * 10 + (1 << 19)) >> 20;
    if bytes == 0 { "-".to_owned() } else { format!("{}.{}", tenths / 10, tenths % 10) }
}

/// `134515008` as `134,515,008`.
pub(super) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let first = digits.len() % 3;
    let mut text = digits[..first].to_owned();
    for group in digits.as_bytes()[first..].chunks(3) {
        if !text.is_empty() {
            text.push(',');
        }
        text.extend(group.iter().map(|&digit| char::from(digit)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_by_thousands() {
        let cases = [(0, "0"), (999, "999"), (1000, "1,000"), (134_515_008, "134,515,008")];
        for (number, expected) in cases {
            assert_eq!(grouped(number), expected);
        }
    }

    #[test]
    fn bytes_are_shown_as_mebibytes() {
        assert_eq!(mebibytes(0), "-");
        assert_eq!(mebibytes(1 << 20), "1.0");
        assert_eq!(mebibytes(3 << 19), "1.5");
        assert_eq!(mebibytes(1), "0.0");
    }
}
