"""Makes crates/infer/tests/testdata/smollm2.json: what SmolLM2-135M-Instruct answers, greedily.

    python3 -m venv v && v/bin/pip install torch transformers gguf accelerate
    v/bin/python xtask/goldens/smollm2.py FOLDER/SmolLM2-135M-Instruct.Q4_1.gguf crates/infer/tests/testdata/smollm2.json

transformers loads the GGUF file into f32 weights; each prompt goes through the file's own chat template and is
continued by 64 of the most probable tokens, ends of text included.
"""
import json
import pathlib
import sys

import torch
import transformers

PROMPTS = [
    "Write a Python function that adds two numbers.", "What is the capital of France?",
    "Explain recursion in one sentence.", "Write a function is_even(n) in Python.",
    "List three prime numbers.", "How do I reverse a string in Python?", "What is 12 times 12?",
    "Name the planets of the solar system.", "Write a haiku about autumn.", "What does the len function do?",
    "Translate 'good morning' into Spanish.", "Write a Python loop that prints 1 to 5.",
    "What is a dictionary in Python?", "Give me a synonym for 'happy'.", "Why is the sky blue?",
    "Write a function that returns the maximum of a list.", "What is the opposite of 'cold'?",
    "How many days are there in a leap year?", "Sort the list [3, 1, 2] in Python.", "What is an algorithm?",
]

path, target = map(pathlib.Path, sys.argv[1:3])
tokenizer = transformers.AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name)
model = transformers.AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name, dtype=torch.float32).eval()
cases = []
for text in PROMPTS:
    chat = tokenizer.apply_chat_template([{"role": "user", "content": text}], add_generation_prompt=True, tokenize=False)
    ids = tokenizer(chat, add_special_tokens=False)["input_ids"]
    past, given, answer, margin = None, torch.tensor([ids]), [], []
    for _ in range(64):
        with torch.inference_mode():
            out = model(given, past_key_values=past, use_cache=True)
        past, logits = out.past_key_values, out.logits[0, -1]
        best = logits.topk(2)
        answer.append(best.indices[0].item())
        margin.append(round((best.values[0] - best.values[1]).item(), 5))
        given = best.indices[:1][None]
    cases.append({"prompt": text, "ids": ids, "answer": answer, "least_margin": min(margin)})
versions = {"torch": torch.__version__, "transformers": transformers.__version__}
target.parent.mkdir(parents=True, exist_ok=True)
target.write_text(json.dumps({"versions": versions, "cases": cases}) + "\n")
print(len(cases), min(case["least_margin"] for case in cases), target.stat().st_size)
