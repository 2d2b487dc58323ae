"""Prints the scores that transformers and peft give with a reward model that whet wrote.

    python3 -m venv v && v/bin/pip install torch transformers peft safetensors
    v/bin/python xtask/goldens/reward_model.py BASE REWARD_MODEL TOKENS.json

BASE is a model's directory, REWARD_MODEL that of an adapter of type SEQ_CLS (`outputs/final_model` of a run of
`whet train rm`), TOKENS.json a list of token sequences. A line of the output is the score of one. In f32 on the CPU,
one thread. The scores in crates/model/tests/reward.rs were made so, with torch 2.15.0, transformers 5.23.0 and
peft 0.21.2; the test says how the reward model is written.
"""
import json
import sys

import peft
import torch
import transformers

torch.set_num_threads(1)
base, adapter, tokens = sys.argv[1:]
model = transformers.AutoModelForSequenceClassification.from_pretrained(base, num_labels=1, dtype=torch.float32)
model = peft.PeftModel.from_pretrained(model, adapter).eval()
with torch.no_grad():
    for sequence in json.load(open(tokens)):
        print(f"{model(torch.tensor([sequence])).logits[0, 0].item():.9}")
