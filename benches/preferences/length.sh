#!/bin/sh
# A reward model that was trained on length on purpose, and PPO that is paid by it alone:
# benches/preferences/length.sh SEED [FLAG ...], after benches/preferences/run.sh SEED.
#
# Of every pair of that run the longer reply becomes the chosen one. Prints the alarms of both trainings
# with their steps. Flags go to both; `WHET` names the binary [default: whet].
set -eu
seed=$1
shift
whet=${WHET:-whet}
stages=runs/preferences-$seed/stages
out=runs/length-$seed-pairs
mkdir -p "$out"
for file in pairs pairs.val; do
    python3 - "$stages/pairs/$file.jsonl" "$out/$file.jsonl" <<'PYTHON'
import json, sys

with open(sys.argv[1]) as pairs, open(sys.argv[2], "w") as swapped:
    for line in pairs:
        pair = json.loads(line)
        sides = sorted([pair["rejected"], pair["chosen"]], key=len)
        if len(sides[0]) < len(sides[1]):
            pair |= {"rejected": sides[0], "chosen": sides[1], "margin": 0.0, "origin": "hub:length"}
            swapped.write(json.dumps(pair) + "\n")
PYTHON
done
settings="--set student.model_name=runs/sft-$seed/merged --set seed=$seed --set lora.rank=32 --set lora.alpha=64
    --set training.per_device_train_batch_size=16 --set training.max_length=640 --set sandbox.cpu_seconds=2"
# shellcheck disable=SC2086 # words of settings are split on purpose
"$whet" -q train rm --run "length-rm-$seed" --pairs "$out/pairs.jsonl" --held-out-pairs "$out/pairs.val.jsonl" \
    $settings --set rm.learning_rate=1e-3 "$@"
# shellcheck disable=SC2086
"$whet" -q train ppo --run "length-ppo-$seed" --tasks "$stages/data/train.jsonl" \
    --reward-model "runs/length-rm-$seed" $settings --set reward.composite_weight=0 \
    --set training.max_steps=40 --set ppo.learning_rate=1e-3 --set ppo.batch_size=64 --set ppo.mini_batch_size=64 \
    --set ppo.ppo_epochs=1 --set ppo.num_samples_per_prompt=4 --set ppo.max_completion_length=200 \
    --set ppo.kl_coef=0 --set ppo.kl_patience=0 --set held_out.every_steps=0 "$@"
for run in "length-rm-$seed" "length-ppo-$seed"; do
    grep '"type":"alarm"' "runs/$run/events.jsonl" | sed "s/^/$run: /"
done
