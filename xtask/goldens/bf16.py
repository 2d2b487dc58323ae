"""How far PyTorch's own bf16 is from the golden gradients, which are f32.

    python3 -m venv v && v/bin/pip install torch transformers safetensors
    v/bin/python xtask/goldens/bf16.py crates/model/tests/golden [cuda]

For each family, whole and adapter: the distance of all gradients as one vector, in parts of its length, for the
model in f32 (what differs is the order of sums), in f32 with its weights rounded to bf16, and in bf16. Adapters
have f32 weights and bf16 products. `crates/model/tests/cuda/goldens.rs` has the last of these figures.
"""
import json
import math
import pathlib
import sys

import torch
import transformers
from safetensors.torch import load_file

FIRST_ASKED = (1, 5, 22)
ADAPTER_PREFIX, A, B = "base_model.model.", "lora_A", "lora_B"


class Lora(torch.nn.Module):
    def __init__(self, base, a, b, scale):
        super().__init__()
        self.base, self.scale = base, scale
        self.a, self.b = torch.nn.Parameter(a.clone()), torch.nn.Parameter(b.clone())

    def forward(self, x):
        linear = torch.nn.functional.linear
        return self.base(x) + linear(linear(x, self.a.to(x.dtype)), self.b.to(x.dtype)) * self.scale


def adapted(model, folder):
    """Puts the adapter beside its projections; gives its tensors by their names."""
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    settings = json.loads((folder / "adapter/adapter_config.json").read_text())
    tensors = load_file(folder / "adapter/adapter_model.safetensors")
    names = {}
    for name in [name for name in tensors if A in name]:
        path = name[len(ADAPTER_PREFIX):name.index(f".{A}")]
        parent, leaf = path.rsplit(".", 1)
        parent = model.get_submodule(parent)
        other = name.replace(A, B)
        lora = Lora(getattr(parent, leaf), tensors[name], tensors[other], settings["lora_alpha"] / settings["r"])
        setattr(parent, leaf, lora)
        names[name], names[other] = lora.a, lora.b
    return names


def gradients(folder, kind, golden, device, dtype, rounded):
    model = transformers.AutoModelForCausalLM.from_pretrained(
        folder, dtype=torch.float32, attn_implementation="eager").eval()
    names = adapted(model, folder) if kind == "lora" else None
    if rounded:
        for parameter in model.parameters():
            parameter.data = parameter.data.bfloat16().float()
    model = model.to(dtype).to(device)
    for parameter in (names or {}).values():
        parameter.data = parameter.data.float()
    logps, entropies = [], []
    for at, first in enumerate(FIRST_ASKED):
        tokens = golden[f"tokens.{at}"].long().to(device)
        logp = torch.log_softmax(model(tokens[None]).logits[0, first - 1:-1].float(), -1)
        logps.append(logp.gather(1, tokens[first:, None])[:, 0])
        entropies.append(-(logp.exp() * logp).sum(-1))
    signal = [golden[name].to(device) for name in ("dlogp", "dentropy")]
    (torch.cat(logps) * signal[0] + torch.cat(entropies) * signal[1]).sum().backward()
    named = (names or dict(model.named_parameters())).items()
    return {name: parameter.grad.float().cpu() for name, parameter in named}


def apart(ours, truth):
    squares = sum(((ours[name] - theirs) ** 2).sum().item() for name, theirs in truth.items())
    return math.sqrt(squares / sum((theirs ** 2).sum().item() for theirs in truth.values()))


if __name__ == "__main__":
    device = sys.argv[2] if len(sys.argv) > 2 else "cpu"
    for family in ("llama", "qwen2", "qwen3"):
        folder = pathlib.Path(sys.argv[1]) / family
        golden = load_file(folder / "golden.safetensors")
        for kind in ("full", "lora"):
            line = []
            for name, dtype, rounded in (("f32", torch.float32, False), ("bf16 weights", torch.float32, True),
                                         ("bf16", torch.bfloat16, True)):
                ours = gradients(folder, kind, golden, device, dtype, rounded)
                truth = {key: golden[f"{kind}.{key}"] for key in ours}
                line.append(f"{name} {apart(ours, truth):.2e}")
            print(family, kind, ", ".join(line))
