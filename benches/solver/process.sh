#!/bin/sh
# GRPO without a process reward model, with one as a term of the reward, and with step-level advantages, for one seed:
#
#   benches/solver/process.sh SEED [FLAG ...]
#
# Flags go to every command, for example --device cuda. `WHET` names the binary [default: whet]. The process reward model
# learns from the rollouts of the run without one, and its AUC is measured on unseen families. Prints every evaluation
# beside that of SFT, with paired intervals.
set -eu
seed=$1
shift
whet=${WHET:-whet}
sft=runs/solver-sft-$seed/stages
recipe=$(dirname "$0")/../../configs/recipes/solver.toml
mkdir -p runs
sed "s/^seed = 1042/seed = $seed$seed/" "$recipe" >"runs/solver-sft-$seed.toml"
"$whet" -q run "runs/solver-sft-$seed.toml" --until sft-eval --run "solver-sft-$seed" --set "seed=$seed" \
    --set sft-eval:skip_greedy=true --set "eval.more_temperatures=[]" "$@"

# A run of GRPO from the SFT policy and its evaluation: NAME FLAG ...
measured() {
    name=$1
    shift
    "$whet" -q train grpo --tasks "$sft/data/train.jsonl" --run "$name-$seed" --set "seed=$seed" \
        --set "student.model_name=$PWD/$sft/sft/outputs/final_model" --set env.rules=false \
        --set training.train=lora --set lora.rank=32 --set lora.alpha=64 --set training.max_length=1024 \
        --set training.max_steps=100 --set training.learning_rate=1e-3 --set training.per_device_train_batch_size=16 \
        --set training.gradient_accumulation_steps=2 --set grpo.num_samples_per_prompt=4 --set grpo.kl_coef=0.01 \
        --set grpo.normaliser=sequence_mean --set grpo.temperature=1.0 --set grpo.max_completion_length=128 \
        --set dual_source.teacher_sft_weight=0 --set dual_source.self_sft_weight=0 --set held_out.every_steps=0 "$@"
    "$whet" -q eval --model "runs/$name-$seed/outputs/final_model" --tasks "$sft/data/val.jsonl" --max-tasks 200 \
        --num-samples 2 --k 1 --skip-greedy --set env.rules=false --set eval.temperature=1.0 --set "seed=$seed" \
        --set grpo.max_completion_length=128 --out "runs/$name-$seed/eval" $device
    echo "== seed $seed: $name"
    "$whet" eval compare "$sft/sft-eval" "runs/$name-$seed/eval"
}

device="$*"
measured none "$@"
"$whet" train prm --rollouts "runs/none-$seed/rollouts/rollouts.jsonl" --held-out "$sft/sft-eval/rollouts.jsonl" \
    --run "prm-$seed" --set "student.model_name=$PWD/$sft/sft/outputs/final_model" --set env.rules=false \
    --set prm.learning_rate=1e-3 --set training.max_length=1024 --set "seed=$seed" "$@"
measured process "$@" --set "reward.process=runs/prm-$seed"
measured step "$@" --set "reward.process=runs/prm-$seed" --set grpo.advantage_by=step
