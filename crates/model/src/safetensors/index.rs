//! The list of shards: `model.safetensors.index.json`.
//!
//! It maps each tensor to the file it is in. A name that is more than a file's name is refused: it
//! could lead anywhere on the machine.

use std::collections::BTreeMap;
use std::path::{Component, Path};

use crate::shown;
use crate::small_file;
use crate::weights::WeightsError;

/// The list's name in its directory.
pub(super) const NAME: &str = "model.safetensors.index.json";

/// Half a million tensors; the largest models have a tenth of that.
const LIMIT_BYTES: u64 = 64 << 20;

#[derive(serde::Deserialize)]
struct ShardIndex {
    weight_map: BTreeMap<String, String>,
}

/// The shards, and which tensors are listed for each.
pub(super) fn read(path: &Path) -> Result<BTreeMap<String, Vec<String>>, WeightsError> {
    let text = small_file::read_text(path, LIMIT_BYTES).map_err(|source| WeightsError::Disk {
        verb: "read",
        path: path.to_owned(),
        source,
    })?;
    let bad = |problem| WeightsError::Index { path: path.to_owned(), problem };
    let index: ShardIndex =
        serde_json::from_str(&text).map_err(|err| bad(shown::beginning(&err.to_string())))?;
    let mut shards: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (tensor, shard) in index.weight_map {
        let mut parts = Path::new(&shard).components();
        let is_plain = matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None));
        if !is_plain {
            let shard = shown::beginning(&shard);
            return Err(bad(format!("`{shard}` is refused: a shard lies beside its list")));
        }
        shards.entry(shard).or_default().push(tensor);
    }
    if shards.is_empty() {
        return Err(bad("`weight_map` lists nothing".to_owned()));
    }
    Ok(shards)
}
