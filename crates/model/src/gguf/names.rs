//! The hub's names for GGUF's tensors, and the order of rows that the hub's layout has.
//!
//! llama.cpp rotates neighbouring numbers of a head, the hub's Llama rotates number `i` with number
//! `i + head_dim / 2`; so files of the architecture `llama` have the rows of the query and key
//! projections of each head interleaved: row `2j + s` of a head is the hub's row `s·head_dim/2 + j`.
//! Files of `qwen2` and `qwen3` keep the hub's order.

/// The order of a tensor's rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RowOrder {
    /// As the hub has them.
    Straight,
    /// Interleaved within heads of this many rows.
    Interleaved(usize),
}

impl RowOrder {
    /// The index in the file of the hub's row `row`.
    pub(super) fn in_file(self, row: usize) -> usize {
        match self {
            Self::Straight => row,
            Self::Interleaved(head) => {
                let (first, within) = (row - row % head, row % head);
                let (side, j) = (within / (head / 2), within % (head / 2));
                first + 2 * j + side
            }
        }
    }
}

/// The hub's name for a tensor; `None` for one that we know no name for.
pub(super) fn hub_name(name: &str) -> Option<String> {
    let whole = match name {
        "token_embd.weight" => Some("model.embed_tokens.weight"),
        "output_norm.weight" => Some("model.norm.weight"),
        "output.weight" => Some("lm_head.weight"),
        _ => None,
    };
    if let Some(whole) = whole {
        return Some(whole.to_owned());
    }
    let (layer, part) = name.strip_prefix("blk.")?.split_once('.')?;
    let layer: u32 = layer.parse().ok()?;
    let (module, end) = part.rsplit_once('.')?;
    let module = match module {
        "attn_norm" => "input_layernorm",
        "ffn_norm" => "post_attention_layernorm",
        "attn_q" => "self_attn.q_proj",
        "attn_k" => "self_attn.k_proj",
        "attn_v" => "self_attn.v_proj",
        "attn_output" => "self_attn.o_proj",
        "attn_q_norm" => "self_attn.q_norm",
        "attn_k_norm" => "self_attn.k_norm",
        "ffn_gate" => "mlp.gate_proj",
        "ffn_up" => "mlp.up_proj",
        "ffn_down" => "mlp.down_proj",
        _ => return None,
    };
    matches!(end, "weight" | "bias").then(|| format!("model.layers.{layer}.{module}.{end}"))
}

/// Whether a tensor is a query or key projection, by its GGUF name.
pub(super) fn is_rotated(name: &str) -> bool {
    name.ends_with(".attn_q.weight") || name.ends_with(".attn_k.weight")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_the_hubs() {
        let check = |name, expected: Option<&str>| assert_eq!(hub_name(name).as_deref(), expected);
        check("token_embd.weight", Some("model.embed_tokens.weight"));
        check("blk.12.attn_q.bias", Some("model.layers.12.self_attn.q_proj.bias"));
        check("blk.0.ffn_down.weight", Some("model.layers.0.mlp.down_proj.weight"));
        check("blk.3.attn_k_norm.weight", Some("model.layers.3.self_attn.k_norm.weight"));
        check("blk.x.attn_q.weight", None);
        check("blk.1.ffn_gate_exps.weight", None);
        check("blk.1.attn_q.scale", None);
        check("rope_freqs.weight", None);
    }

    #[test]
    fn interleaved_rows_are_those_of_the_converter() {
        // numpy: arange(12).reshape(2, 2, 3).swapaxes(1, 2).reshape(12), two heads of six rows,
        // is the hub's row at each place of the file.
        let file = [0, 3, 1, 4, 2, 5, 6, 9, 7, 10, 8, 11];
        for (at, &hub) in file.iter().enumerate() {
            assert_eq!(RowOrder::Interleaved(6).in_file(hub), at);
        }
        assert_eq!(RowOrder::Straight.in_file(7), 7);
    }
}
