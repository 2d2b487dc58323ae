"""Makes crates/model/tests/golden: three tiny random models and what PyTorch says of them.

    python3 -m venv v && v/bin/pip install torch transformers peft safetensors
    v/bin/python xtask/goldens/models.py crates/model/tests/golden

For each family: the model and an adapter as transformers and peft save them, and golden.safetensors with the
tokens of a few sequences, the derivatives that a loss is given by each log-probability and entropy, and what comes
out: log-probabilities, entropies, the last sequence's logits, and the gradient of every tensor, of the whole model
(`full.*`) and of the adapter (`lora.*`). Beside them a reward model on the same weights, as PEFT saves one: an
adapter with the head `score`, and reward.safetensors with the derivative that a loss is given by each place's score,
the scores of all places, the one of each sequence that transformers gives, and every gradient. Everything in f32 on the CPU, one thread; versions are in the metadata.
"""
import json
import pathlib
import sys

import peft
import torch
import transformers
from safetensors.torch import save_file

torch.set_num_threads(1)
LENGTHS = (7, 70, 23)
FIRST_ASKED = (1, 5, 22)
COMMON = dict(vocab_size=64, hidden_size=32, intermediate_size=40, num_hidden_layers=2, num_attention_heads=4,
              num_key_value_heads=2, max_position_embeddings=128, bos_token_id=1, eos_token_id=2)
MODULES = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
FAMILIES = {
    "llama": (transformers.LlamaConfig, transformers.LlamaForCausalLM, dict(
        tie_word_embeddings=False, rms_norm_eps=1e-5,
        rope_parameters=dict(rope_type="llama3", rope_theta=10000.0, factor=4.0, low_freq_factor=1.0,
                             high_freq_factor=4.0, original_max_position_embeddings=32))),
    "qwen2": (transformers.Qwen2Config, transformers.Qwen2ForCausalLM, dict(tie_word_embeddings=True)),
    "qwen3": (transformers.Qwen3Config, transformers.Qwen3ForCausalLM, dict(tie_word_embeddings=True, head_dim=16)),
}


def spread(model, names):
    """Larger weights than a new model has, so that no term is lost in rounding."""
    for name, tensor in model.named_parameters():
        if names in name:
            with torch.no_grad():
                noise = torch.randn_like(tensor)
                tensor.copy_(1 + 0.3 * noise if "norm" in name else 0.25 * noise)


def predictions(model, sequences):
    logps, entropies = [], []
    for tokens, first in zip(sequences, FIRST_ASKED):
        logits = model(tokens[None]).logits[0, first - 1:-1]
        logp = torch.log_softmax(logits, -1)
        logps.append(logp.gather(1, tokens[first:, None])[:, 0])
        entropies.append(-(logp.exp() * logp).sum(-1))
    return torch.cat(logps), torch.cat(entropies)


def gradients(model, sequences, signal, golden, prefix):
    model.zero_grad()
    logp, entropy = predictions(model, sequences)
    (logp * signal[0] + entropy * signal[1]).sum().backward()
    golden[f"{prefix}.logp"], golden[f"{prefix}.entropy"] = logp.detach(), entropy.detach()
    for name, tensor in model.named_parameters():
        if tensor.requires_grad:
            golden[f"{prefix}.{name.replace('.default.', '.')}"] = tensor.grad.clone()


def reward(folder, sequences, versions):
    """A head of one number a place. transformers gives the last place's; a process reward model reads others too."""
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder, num_labels=1).float().eval()
    model.name_or_path = None
    settings = peft.LoraConfig(r=2, lora_alpha=6, target_modules=["q_proj", "down_proj"], task_type="SEQ_CLS")
    adapted = peft.get_peft_model(model, settings).eval()
    spread(adapted, "lora_")
    spread(adapted, "modules_to_save")
    adapted.save_pretrained(folder / "reward")
    inner = adapted.base_model.model
    scores = torch.cat([inner.score(inner.model(tokens[None]).last_hidden_state)[0, :, 0] for tokens in sequences])
    signal = torch.randn(len(scores))
    (scores * signal).sum().backward()
    golden = {"dscore": signal, "scores": scores.detach(),
              "last": torch.cat([adapted(tokens[None]).logits[0].detach() for tokens in sequences])}
    for name, tensor in adapted.named_parameters():
        if tensor.requires_grad:
            name = name.replace(".default.", ".").replace(".modules_to_save.", ".")
            golden[f"grad.{name}"] = tensor.grad.clone()
    save_file(golden, folder / "reward.safetensors", metadata=versions)


def make(folder, family):
    torch.manual_seed(7)
    config_class, model_class, extra = FAMILIES[family]
    model = model_class(config_class(**COMMON, **extra)).float().eval()
    spread(model, "")
    model.save_pretrained(folder)
    sequences = [torch.randint(0, COMMON["vocab_size"], (length,)) for length in LENGTHS]
    asked = sum(length - first for length, first in zip(LENGTHS, FIRST_ASKED))
    signal = torch.randn(2, asked)
    golden = {f"tokens.{at}": tokens.float() for at, tokens in enumerate(sequences)}
    golden |= {"dlogp": signal[0], "dentropy": signal[1], "logits": model(sequences[-1][None]).logits[0].detach()}
    gradients(model, sequences, signal, golden, "full")
    settings = peft.LoraConfig(r=4, lora_alpha=6, target_modules=MODULES, task_type="CAUSAL_LM")
    adapted = peft.get_peft_model(model, settings).eval()
    spread(adapted, "lora_")
    adapted.save_pretrained(folder / "adapter")
    gradients(adapted, sequences, signal, golden, "lora")
    versions = {name: module.__version__ for name, module in
                (("torch", torch), ("transformers", transformers), ("peft", peft))}
    golden = {name: tensor.contiguous() for name, tensor in golden.items()}
    save_file(golden, folder / "golden.safetensors", metadata=versions)
    reward(folder, sequences, versions)
    for extra_file in ("generation_config.json", "adapter/README.md", "reward/README.md"):
        (folder / extra_file).unlink(missing_ok=True)


if __name__ == "__main__":
    for family in FAMILIES:
        target = pathlib.Path(sys.argv[1]) / family
        target.mkdir(parents=True, exist_ok=True)
        make(target, family)
        print(family, json.dumps({path.name: path.stat().st_size for path in sorted(target.rglob("*")) if path.is_file()}))
