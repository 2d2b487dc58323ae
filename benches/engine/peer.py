"""The PyTorch side of `benches/benches/engine/main.rs`: runs a reference script with one more configuration.

    python3 peer.py REF_TORCH.PY --config S --mode lora --what train --dtype f32 --threads 2 ...

Configuration S has the shape of SmolLM2-135M.
"""
import sys

SHAPE = ("CFG = dict(S=dict(vocab=49152, d=576, L=30, H=9, KV=3, hd=64, ffn=1536, batch=4, seq=256, dbatch=32, "
         "prompt=16, new=128),")

path = sys.argv.pop(1)
source = open(path).read()
assert "CFG = dict(" in source and "choices" not in source, "another reference script than this one knows"
exec(compile(source.replace("CFG = dict(", SHAPE, 1), path, "exec"))
