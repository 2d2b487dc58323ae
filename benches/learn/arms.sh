#!/usr/bin/env bash
# The embedded ablation with the commands that a user types: which signal teaches the embedded student what, measured at
# three temperatures over several seeds. Parts whose result is there are skipped, and a killed run resumes.
#
#   benches/learn/arms.sh arms OUT          short SFT, then each arm at each learning rate, all on the same tasks
#   benches/learn/arms.sh ppo OUT           `whet train ppo` and `whet train grpo` with their defaults, at equal completions
#   benches/learn/arms.sh quickstart OUT    `whet quickstart` as it is, one run a seed
#
# Arms: sft (traces alone), teacher (rollouts and traces), all (and own best rollouts), rollouts, self (rollouts and own
# best). OUT/MODE.json has pass@1 at each temperature for every seed; OUT/tables has what
# `whet eval compare --seeds` says of each arm over the short SFT, and over the untrained student.
#
# Change with the environment: WHET, SEEDS, ARMS, RATES, SFT_STEPS, STEPS, TASKS (made, of which a fifth are held out),
# HELD_OUT (measured), AT_ONCE (trainings at a time), THREADS (of each), DEVICE, SET ("--set a.b=c …", for every training
# and evaluation).
set -euo pipefail
[ $# -eq 2 ] || { sed -n '2,17p' "$0" >&2; exit 2; }
mode=$1
mkdir -p "$2"
out=$(cd "$2" && pwd)
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
whet=${WHET:-whet}
read -ra seeds <<< "${SEEDS:-42 1 2 3 4}"
read -ra arms <<< "${ARMS:-sft teacher all rollouts self}"
case $mode in ppo) usual=default ;; *) usual="1e-3 3e-3" ;; esac
read -ra rates <<< "${RATES:-$usual}"
read -ra extra <<< "${SET:-}"
sft_steps=${SFT_STEPS:-30} steps=${STEPS:-100} tasks=${TASKS:-3000} held_out=${HELD_OUT:-400}
at_once=${AT_ONCE:-1}
where=(--device "${DEVICE:-cpu}")
[ -z "${THREADS:-}" ] || where+=(--threads "$THREADS")
families=filter-map-reduce,list-building,slices,two-way,uniqueness
mkdir -p "$out/logs" "$out/tables"

# in_turn NAME FUNCTION ARGUMENT…: at most AT_ONCE of them at a time, each with a log of its own.
names=()
in_turn() {
  local name=$1
  shift
  while [ "$(jobs -rp | wc -l)" -ge "$at_once" ]; do sleep 1; done
  echo "+ $name" >&2
  rm -f "$out/logs/$name.done"
  # With `&&` a command that fails within would not end it.
  ("$@" > "$out/logs/$name.log" 2>&1; touch "$out/logs/$name.done") &
  names+=("$name")
}

# Waits for all of them; one that failed ends the script once the others are done.
all_done() {
  local name failed=0
  wait
  for name in "${names[@]}"; do
    [ -e "$out/logs/$name.done" ] || { echo "arms.sh: $name failed, see $out/logs/$name.log" >&2; failed=1; }
  done
  names=()
  [ "$failed" -eq 0 ] || exit 1
}

# train KIND RUN ARGUMENT…
train() {
  local kind=$1 run=$2
  shift 2
  [ -e "$out/runs/$run/outputs/final_model" ] && return 0
  if [ -e "$out/runs/$run/events.jsonl" ]; then
    "$whet" -q train "$kind" --run "$run" --resume "${where[@]}" --set "run.dir=$out/runs"
    return
  fi
  "$whet" -q train "$kind" --run "$run" "${where[@]}" --set "run.dir=$out/runs" "$@" "${extra[@]}"
}

# measure NAME MODEL SEED
measure() {
  [ -e "$out/eval/$1/evaluation_results.json" ] && return 0
  "$whet" -q eval --model "$2" --tasks "$out/data/val.jsonl" --max-tasks "$held_out" --config "$here/arms.toml" \
    --out "$out/eval/$1" --set "seed=$3" "${where[@]}" "${extra[@]}"
}

# The short SFT of a seed, merged into the student.
start_of() {
  local seed=$1
  train sft "sft$sft_steps-$seed" --config "$here/arms.toml" --traces "$out/traces.jsonl" \
    --set student.model_name=embedded --set "seed=$seed" \
    --set "training.max_steps=$sft_steps" --set training.learning_rate=1e-3 --set training.gradient_accumulation_steps=1
  [ -e "$out/models/start-$seed" ] ||
    "$whet" -q export embedded --adapter "$out/runs/sft$sft_steps-$seed/outputs/final_model" --out "$out/models/start-$seed"
  measure "start-$seed" "$out/models/start-$seed" "$seed"
}

# arm NAME RATE SEED
arm() {
  local name=$1 rate=$2 seed=$3 weights=()
  case $name in
    sft) weights=(grpo_weight=0 self_sft_weight=0) ;;
    teacher) weights=(self_sft_weight=0) ;;
    all) ;;
    rollouts) weights=(teacher_sft_weight=0 self_sft_weight=0) ;;
    self) weights=(teacher_sft_weight=0) ;;
    *) echo "arms.sh: there is no arm $name" >&2; return 2 ;;
  esac
  local set=() weight
  for weight in "${weights[@]}"; do set+=(--set "dual_source.$weight"); done
  train grpo "$name-$rate-$seed" --config "$here/arms.toml" --tasks "$out/data/train.jsonl" --traces "$out/traces.jsonl" \
    --set "seed=$seed" \
    --set "student.model_name=$out/models/start-$seed" --set "training.max_steps=$steps" \
    --set "training.learning_rate=$rate" "${set[@]}"
  measure "$name-$rate-$seed" "$out/runs/$name-$rate-$seed/outputs/final_model" "$seed"
}

# listed PREFIX: the evaluations of all seeds, with commas between.
listed() {
  local seed list=()
  for seed in "${seeds[@]}"; do list+=("$out/eval/$1-$seed"); done
  (IFS=,; echo "${list[*]}")
}

# table BEFORE AFTER: `whet eval compare --seeds`, or of one seed the comparison of two models.
table() {
  local flag=()
  [ "${#seeds[@]}" -lt 2 ] || flag=(--seeds)
  "$whet" eval compare "${flag[@]}" "$(listed "$1")" "$(listed "$2")" | tee "$out/tables/$2-over-$1.txt"
  "$whet" eval compare --json "${flag[@]}" "$(listed "$1")" "$(listed "$2")" > "$out/tables/$2-over-$1.json"
}

make_tasks() {
  [ -e "$out/data/val.jsonl" ] ||
    "$whet" -q data prepare --embedded "$tasks" --families "$families" --val-fraction 0.2 --set seed=1042 --out "$out/data"
}

run_arms() {
  local seed name rate
  make_tasks
  [ -e "$out/traces.jsonl" ] || "$whet" -q teach --teacher embedded --tasks "$out/data/train.jsonl" --out "$out/traces.jsonl"
  for seed in "${seeds[@]}"; do
    in_turn "untrained-$seed" measure "untrained-$seed" embedded "$seed"
    in_turn "start-$seed" start_of "$seed"
  done
  all_done
  for seed in "${seeds[@]}"; do
    for name in "${arms[@]}"; do
      for rate in "${rates[@]}"; do in_turn "$name-$rate-$seed" arm "$name" "$rate" "$seed"; done
    done
  done
  all_done
  table untrained start
  for name in "${arms[@]}"; do
    for rate in "${rates[@]}"; do
      table start "$name-$rate"
      table untrained "$name-$rate"
    done
  done
}

# PPO with its defaults, and GRPO with its own for as many completions.
run_ppo() {
  local seed rate
  make_tasks
  for seed in "${seeds[@]}"; do
    in_turn "untrained-$seed" measure "untrained-$seed" embedded "$seed"
    for rate in "${rates[@]}"; do in_turn "ppo-$rate-$seed" ppo_beside_grpo "$rate" "$seed"; done
  done
  all_done
  for rate in "${rates[@]}"; do
    table untrained "ppo-$rate"
    table untrained "grpo-$rate"
    table "grpo-$rate" "ppo-$rate"
  done
}

# ppo_beside_grpo RATE SEED
ppo_beside_grpo() {
  local rate=$1 seed=$2 completions lines same=()
  same=(--tasks "$out/data/train.jsonl" --set "seed=$seed" --set student.model_name=embedded
    --set held_out.every_steps=0 --set training.save_steps=0)
  [ "$rate" = default ] || same+=(--set "ppo.learning_rate=$rate" --set "training.learning_rate=$rate")
  train ppo "ppo-$rate-$seed" "${same[@]}"
  lines=("$out/runs/ppo-$rate-$seed/rollouts/"*.jsonl)
  completions=$(cat "${lines[@]}" | wc -l)
  train grpo "grpo-$rate-$seed" "${same[@]}" --set "training.max_steps=$((completions / 16))" \
    --set dual_source.teacher_sft_weight=0 --set dual_source.self_sft_weight=0
  measure "ppo-$rate-$seed" "$out/runs/ppo-$rate-$seed/outputs/final_model" "$seed"
  measure "grpo-$rate-$seed" "$out/runs/grpo-$rate-$seed/outputs/final_model" "$seed"
}

run_quickstart() {
  local seed
  for seed in "${seeds[@]}"; do in_turn "quickstart-$seed" quickstart_of "$seed"; done
  all_done
}

quickstart_of() {
  local run=$out/runs/quickstart-$1
  [ -e "$run/quickstart.json" ] && return 0
  local how=(--seed "$1" "${extra[@]}")
  [ ! -e "$run/events.jsonl" ] || how=(--resume)
  "$whet" -q quickstart --run "quickstart-$1" --set "run.dir=$out/runs" "${where[@]}" "${how[@]}"
}

case $mode in
  arms) run_arms ;;
  ppo) run_ppo ;;
  quickstart) run_quickstart ;;
  *) echo "arms.sh: the mode is arms, ppo or quickstart, not $mode" >&2; exit 2 ;;
esac
version=$("$whet" --version)
python3 "$here/arms.py" "$mode" "$out" "${version%%$'\n'*}" "${seeds[@]}" > "$out/$mode.json"
echo "$out/$mode.json" >&2
