"""The TRL side of `benches/benches/learn/ppo/mod.rs`: some steps of TRL's PPO trainer, with the parts of each.

    python3 ppo_peer.py TOKENIZER.JSON SHAPE.JSON lora|full

Needs PyPI `torch`, `transformers`, `peft` and `trl==1.12.0`, the last release that has a PPO trainer. The shape is
that of our side: the model's configuration, the prompts and every count. Prints `steps [...]`, one object each.

`lora` trains an adapter on the policy and one with a value head on the value model, as our side does. `full` trains
every weight of both, as the trainer does unless it is told otherwise.
"""
import json
import os
import sys
import time

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["TRL_EXPERIMENTAL_SILENCE"] = "1"
os.environ["CUDA_VISIBLE_DEVICES"] = ""

import torch
import transformers
import trl
from peft import LoraConfig, inject_adapter_in_model
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM, Qwen3ForSequenceClassification
from transformers import TrainerCallback
from transformers.modeling_outputs import BaseModelOutput
from trl.experimental.ppo import PPOConfig, PPOTrainer, ppo_trainer

tokenizer_file, shape_file, trained = sys.argv[1:]
shape = json.load(open(shape_file))
torch.set_num_threads(shape["threads"])

# The padding token is one that the model has no logit for, so that no completion ends early.
tokenizer = PreTrainedTokenizerFast(
    tokenizer_file=tokenizer_file, padding_side="left", pad_token="<no token>", eos_token="<no token>"
)
model_config = {**shape["model"], "pad_token_id": None, "eos_token_id": None, "bos_token_id": None}
assert tokenizer.pad_token_id >= model_config["vocab_size"], "a completion could hold the padding token"


class Rows(torch.nn.Module):
    """Stands for a reward model's layers: a function of each token, with next to no cost."""

    def forward(self, input_ids, **_):
        return BaseModelOutput(hidden_states=((input_ids % 7).unsqueeze(-1) / 6.0,))


class TrivialReward(torch.nn.Module):
    """The trainer takes rewards from a model alone: this one pays for the last token's number."""

    base_model_prefix = "rows"

    def __init__(self):
        super().__init__()
        self.rows, self.score = Rows(), torch.nn.Identity()


class Parts:
    """Seconds of the parts of a step. The trainer's own functions are timed where it calls them."""

    def __init__(self):
        self.steps, self.now = [], {}

    def timed(self, name, function):
        def call(*args, **kwargs):
            part = name(args) if callable(name) else name
            began = time.perf_counter()
            result = function(*args, **kwargs)
            self.last = time.perf_counter()
            if part:
                self.now[part] = self.now.get(part, 0.0) + self.last - began
            return result

        return call

    def begin(self):
        self.began, self.now = time.perf_counter(), {}

    def end(self):
        now = time.perf_counter()
        self.steps.append({"step_s": now - self.began, **self.now, "learning_s": now - self.learning_began})
        self.begin()


class Steps(TrainerCallback):
    def on_train_begin(self, *_, **__):
        parts.begin()

    def on_step_end(self, *_, **__):
        parts.end()


parts = Parts()


def of_reward(args):
    return "values_s" if args[0] is value_model else "reward_s"


def scored(*args, **kwargs):
    result = reward(*args, **kwargs)
    # The last thing before advantages and updates: both count as learning.
    parts.learning_began = time.perf_counter()
    return result


def sampled(*args, **kwargs):
    responses, logits = generation(*args, **kwargs)
    length = shape["completion_tokens"]
    assert logits.shape[:2] == (shape["batch_size"], length), logits.shape
    assert (responses[:, -length:] != tokenizer.pad_token_id).all(), "a completion ended early"
    return responses, logits


reward = parts.timed(of_reward, ppo_trainer.get_reward)
generation = parts.timed("sampling_s", ppo_trainer.batch_generation)
ppo_trainer.get_reward, ppo_trainer.batch_generation = scored, sampled
forward = parts.timed(lambda _: None if torch.is_grad_enabled() else "reference_s", ppo_trainer.forward)
ppo_trainer.forward = forward

torch.manual_seed(1)
policy = Qwen3ForCausalLM(Qwen3Config(**model_config))
value_model = Qwen3ForSequenceClassification(Qwen3Config(**model_config, num_labels=1))
value_model.model.load_state_dict(policy.model.state_dict())
lora = None
if trained == "lora":
    lora = LoraConfig(**shape["lora"], lora_dropout=0.0, bias="none")
    value_model = inject_adapter_in_model(lora, value_model)
    value_model.score.requires_grad_(True)

rows = tokenizer(shape["prompts"])["input_ids"]
assert {len(row) for row in rows} == {shape["prompt_tokens"]}, {len(row) for row in rows}
batch = shape["batch_size"]
trainer = PPOTrainer(
    # Gradient accumulation would make fewer updates than there are mini-batches: `per_device_train_batch_size` is
    # the batch, of which the trainer computes a mini-batch at a time.
    args=PPOConfig(
        output_dir="trl-out", report_to=[], use_cpu=True, bf16=False, gradient_checkpointing=False,
        save_strategy="no", disable_tqdm=True, logging_strategy="steps", logging_steps=1,
        per_device_train_batch_size=batch, gradient_accumulation_steps=1,
        num_mini_batches=batch // shape["mini_batch_size"], num_ppo_epochs=shape["ppo_epochs"],
        local_rollout_forward_batch_size=batch, total_episodes=batch * shape["steps"],
        response_length=shape["completion_tokens"], temperature=1.0, num_sample_generations=0,
        learning_rate=shape["learning_rate"], kl_coef=shape["kl_coef"], gamma=1.0, lam=0.95, cliprange=0.2,
    ),
    processing_class=tokenizer, model=policy, ref_model=None, reward_model=TrivialReward(), value_model=value_model,
    train_dataset=[{"input_ids": row} for row in rows], peft_config=lora, callbacks=[Steps()],
)
updates, step = [0], trainer.optimizer.step


def counted(*args, **kwargs):
    updates[0] += 1
    return step(*args, **kwargs)


trainer.optimizer.step = counted
trainer.train()
expected = shape["steps"] * shape["ppo_epochs"] * (batch // shape["mini_batch_size"])
assert updates[0] == expected, f"{updates[0]} updates instead of {expected}"
weights = [p for p in trainer.model.parameters() if p.requires_grad]
print("trained weights", sum(p.numel() for p in weights), {str(p.dtype) for p in weights})
print("versions", json.dumps({"torch": torch.__version__, "transformers": transformers.__version__, "trl": trl.__version__}))
print("steps", json.dumps(parts.steps))
