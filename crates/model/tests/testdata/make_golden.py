"""Writes the golden files beside it: what other implementations make of the same input.

    pip install gguf jinja2 numpy tokenizers torch transformers
    python make_golden.py FOLDER

FOLDER holds the tokenizers `qwen3`, `qwen2_5` and `smollm2` of the hub (`tokenizer.json`,
`tokenizer_config.json`) under `tokenizers/`, and `mbpp/mbpp.jsonl`. Written with gguf 0.19, jinja2 3.1,
tokenizers 0.23, torch 2.15 and transformers 5.22.
"""

import json
import pathlib
import sys

import gguf
import numpy
import tokenizers
import transformers
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
from transformers.utils.chat_template_utils import render_jinja_template

HERE = pathlib.Path(__file__).parent
SHARED = pathlib.Path(sys.argv[1])
MODELS = ["qwen3", "qwen2_5", "smollm2"]


def write(name, value):
    text = json.dumps(value, ensure_ascii=False, indent=0, separators=(",", ":"))
    (HERE / name).write_text(text + "\n", encoding="utf-8")


def dequantise():
    """Random blocks with scales of a believable size, and the bits of their numbers."""
    # Where the f16 scales are in a block of each type.
    scales = {"F32": [], "F16": [], "BF16": [], "Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0],
              "Q5_1": [0, 2], "Q8_0": [0], "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208]}
    random = numpy.random.default_rng(5)
    cases = []
    for name, places in scales.items():
        kind = gguf.GGMLQuantizationType[name]
        numbers, size = gguf.GGML_QUANT_SIZES[kind]
        blocks = 2 if places else 32
        data = random.integers(0, 256, (blocks, size), dtype=numpy.uint8)
        if not places:
            plain = random.normal(size=blocks).astype(numpy.float32)
            data = gguf.quants.quantize(plain, kind).view(numpy.uint8)
        for place in places:
            scale = random.normal(size=(blocks, 1)).astype(numpy.float16)
            data[:, place:place + 2] = scale.view(numpy.uint8)
        values = gguf.quants.dequantize(data.reshape(-1) if places else data, kind)
        bits = values.astype(numpy.float32).reshape(-1).view(numpy.uint32)
        cases.append({"dtype": name, "bytes": data.tobytes().hex(),
                      "numbers": "".join(f"{it:08x}" for it in bits)})
    write("dequantise.json", cases)


def rope():
    """Frequencies of each scaling, for configurations in both spellings."""
    llama3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
              "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}
    yarn = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}
    deep = {**yarn, "mscale": 0.7, "mscale_all_dim": 1.3, "beta_fast": 20.0, "beta_slow": 2.0,
            "truncate": False}
    base = {"hidden_size": 256, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 64,
            "intermediate_size": 512, "num_hidden_layers": 2, "vocab_size": 1000}
    cases = []
    for theta, positions, scaling in [
        (10000.0, 2048, None),
        (1000000.0, 40960, None),
        (10000.0, 4096, {"rope_type": "linear", "factor": 2.5}),
        (500000.0, 131072, llama3),
        (1000000.0, 131072, yarn),
        (1000000.0, 131072, deep),
        (1000000.0, 131072, {**yarn, "attention_factor": 1.25}),
    ]:
        parameters = {"rope_theta": theta, **(scaling or {"rope_type": "default"})}
        config = transformers.Qwen3Config(**base, max_position_embeddings=positions,
                                          rope_parameters=parameters)
        if scaling is None:
            module = transformers.models.qwen3.modeling_qwen3.Qwen3RotaryEmbedding(config)
            inverse, factor = module.inv_freq, module.attention_scaling
        else:
            inverse, factor = ROPE_INIT_FUNCTIONS[scaling["rope_type"]](config, "cpu")
        common = {**base, "architectures": ["Qwen3ForCausalLM"],
                  "max_position_embeddings": positions}
        old = {**common, "rope_theta": theta}
        if scaling:
            old["rope_scaling"] = {("type" if k == "rope_type" else k): v
                                   for k, v in scaling.items()}
        new = {**common, "rope_parameters": parameters}
        cases.append({"configs": [old, new], "inverse": inverse.tolist(),
                      "attention_factor": float(factor)})
    write("rope.json", cases)


def conversations():
    tool = {"type": "function", "function": {
        "name": "run", "description": "Runs <code> & says what's printed",
        "parameters": {"type": "object", "properties": {
            "code": {"type": "string"}, "limit": {"type": "number", "default": 1.5}},
            "required": ["code"]}}}
    user = {"role": "user", "content": "Write a function that adds <two> numbers & \"more\".\n"}
    thought = "<think>\nAdd them.\n</think>\n\n```python\ndef add(a, b):\n    return a + b\n```"
    call = {"role": "assistant", "content": "", "tool_calls": [{"type": "function", "function": {
        "name": "run", "arguments": {"code": "print('é\\n')", "limit": 1e-05}}}]}
    return [
        ([user], []),
        ([{"role": "system", "content": "Be brief."}, user], []),
        ([user, {"role": "assistant", "content": thought},
          {"role": "user", "content": "And three?"}], []),
        ([user, {"role": "assistant", "content": "Done.", "reasoning_content": "\nEasy.\n"},
          {"role": "user", "content": "ünïcödé 😀\n\n"},
          {"role": "assistant", "content": "<think>\nlast\n</think>\n\nYes."}], []),
        ([user, call, {"role": "tool", "content": "é\n"}], [tool]),
        ([{"role": "system", "content": "S"}, user, call, {"role": "tool", "content": "a"},
          {"role": "tool", "content": "b"}, {"role": "assistant", "content": "ok"}], [tool, tool]),
    ]


def templates():
    """Conversations with every setting, rendered by transformers."""
    cases = []
    for model in MODELS:
        settings = json.loads((SHARED / "tokenizers" / model / "tokenizer_config.json").read_text())
        source = settings["chat_template"]
        (HERE / f"{model}.jinja").write_text(source, encoding="utf-8")
        for at, (messages, tools) in enumerate(conversations()):
            if model == "smollm2" and tools:
                continue
            for prompt in [True, False]:
                for thinking in [None, True, False] if model == "qwen3" else [None]:
                    extra = {} if thinking is None else {"enable_thinking": thinking}
                    texts, _ = render_jinja_template(
                        conversations=[messages], chat_template=source, tools=tools or None,
                        add_generation_prompt=prompt, **extra)
                    cases.append({"model": model, "conversation": at, "prompt": prompt,
                                  "thinking": thinking, "text": texts[0]})
    spoken = [{"messages": messages, "tools": tools} for messages, tools in conversations()]
    write("templates.json", {"conversations": spoken, "cases": cases})


TEXTS = [
    "", " ", "\n\n\n", "  \t x", "Hello, world!", "it's we'll I'D THEY'VE", "0123 45 6789.50 ٣ ²",
    "def add(a, b):\n    return a + b\n\n\n    # done\r\n", "e\u0301 é ﬁ Å \u212b", "日本語の文 と 한국어",
    "😀👩‍👩‍👧 ok", "a\u00a0b\u2003c\u200b", "<|im_start|>user\nhi<|im_end|>\n", "<think>\n\n</think>\n\n",
    "x" * 200, "#### !!!\n\n   \n", "\u0000\u0001\u007f", "<|endoftext|><|im_end", "ſ 'ſ 'S",
]


def fnv(ids, state):
    for it in ids:
        for byte in it.to_bytes(4, "little"):
            state = ((state ^ byte) * 0x100000001B3) % 2**64
    return state


def tokens():
    """Tokens of odd texts, and a hash over the tokens of all texts of MBPP."""
    rows = [json.loads(line) for line in (SHARED / "mbpp/mbpp.jsonl").open(encoding="utf-8")]
    cases = []
    for model in MODELS:
        tokenizer = tokenizers.Tokenizer.from_file(str(SHARED / f"tokenizers/{model}/tokenizer.json"))
        encode = lambda text: tokenizer.encode(text, add_special_tokens=False).ids
        state, count = 0xCBF29CE484222325, 0
        for row in rows:
            for text in [row["text"], row["code"], *row["test_list"]]:
                ids = encode(text)
                state, count = fnv(ids, state), count + len(ids)
        cases.append({"model": model, "texts": [{"text": it, "ids": encode(it)} for it in TEXTS],
                      "mbpp_tokens": count, "mbpp_fnv": f"{state:016x}"})
    write("tokens.json", cases)


dequantise()
rope()
templates()
tokens()
