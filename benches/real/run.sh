#!/usr/bin/env bash
# A real student, measured and trained with the commands that a user types. Every part is skipped where its result is
# there, and resumes where it was stopped, so the same command goes on after a crash.
#
#   benches/real/run.sh MODEL DATA OUT [PART…]
#
# MODEL is a GGUF file or a directory, DATA has mbpp.jsonl, sanitized-mbpp.json and HumanEval.jsonl.gz (in it or in
# folders below), OUT takes everything. Parts, all in this order by default:
#   tasks   MBPP's first statements and tests, one shown: 457 proven tasks to train on, 491 to measure on
#   base    the defaults at T = 0.6 and greedy, beside other prompts; the suites with their variants
#   train   GRPO by the recipe, one run a seed
#   after   each run measured as the base was, and compared with it
# WHET, RECIPE, SEEDS, DEVICE, PROMPTS (baselines) and SET ("--set a.b=c …", for every command) change what they name.
set -euo pipefail
[ $# -ge 3 ] || { sed -n '2,14p' "$0" >&2; exit 2; }
model=$1 data=$2 out=$3
shift 3
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
whet=${WHET:-whet}
recipe=${RECIPE:-$here/../../configs/recipes/qwen2.5-coder-0.5b-mbpp-grpo.toml}
device=${DEVICE:-cuda:0}
read -ra seeds <<< "${SEEDS:-42 7 3}"
read -ra extra <<< "${SET:-}"
mkdir -p "$out"

file() {
  local found
  found=$(find -L "$data" -name "$1" -print -quit)
  [ -n "$found" ] || { echo "run.sh: no $1 in $data" >&2; exit 2; }
  echo "$found"
}

# A command whose last word is the file that it leaves behind.
once() {
  local result=${!#}
  [ -e "$result" ] && return 0
  echo "+ ${*:1:$#-1}" >&2
  "${@:1:$#-1}"
}

tasks() {
  once "$whet" data prepare --mbpp "$(file mbpp.jsonl)" --mbpp-variant first --skip-apps --dev-fraction 0 --out "$out/data" "$out/data/val.jsonl"
  once "$whet" data validate "$out/data/train.jsonl" --out "$out/proven.jsonl" "$out/proven.jsonl"
  once "$whet" data validate "$out/data/val.jsonl" --out "$out/test.jsonl" "$out/test.jsonl"
}

# measure NAME MODEL ARGUMENT…
measure() {
  local name=$1 of=$2
  shift 2
  once "$whet" eval --model "$of" --device "$device" --out "$out/eval/$name" "$@" "${extra[@]}" "$out/eval/$name/evaluation_results.json"
}

# The samples at T = 0.6 with the greedy one, and the suites with the prompts that figures are compared in.
measure_all() {
  local name=$1 of=$2
  shift 2
  measure "$name-test" "$of" --tasks "$out/test.jsonl" --num-samples 4 --k 1 --temperature 0.6 "$@"
  measure "$name-humaneval" "$of" --suite humaneval --tasks "$(file HumanEval.jsonl.gz)"
  measure "$name-humaneval-plain" "$of" --suite humaneval:plain --tasks "$(file HumanEval.jsonl.gz)"
  measure "$name-sanitized" "$of" --suite mbpp-sanitized --tasks "$(file sanitized-mbpp.json)"
  measure "$name-mbpp" "$of" --suite mbpp --tasks "$(file mbpp.jsonl)"
}

base() {
  measure_all base "$model" --baseline-prompts "${PROMPTS:-plain,evalplus,mbpp,unified}"
  measure base-test-entry "$model" --tasks "$out/test.jsonl" --num-samples 1 --k 1 --temperature 0 --skip-greedy \
    --set prompt.template=evalplus --set eval.sanitize=entry_point
  measure base-published "$model" --suite mbpp-sanitized:qwen --tasks "$(file sanitized-mbpp.json)"
  measure base-humaneval-published "$model" --suite humaneval:qwen --tasks "$(file HumanEval.jsonl.gz)"
}

train() {
  local seed run
  for seed in "${seeds[@]}"; do
    run=$out/runs/grpo-$seed
    [ -e "$run/outputs/final_model" ] && continue
    local resume=()
    [ -e "$run" ] && resume=(--resume)
    echo "+ training with seed $seed" >&2
    (cd "$out" && "$whet" train grpo --run "grpo-$seed" "${resume[@]}" --tasks proven.jsonl --config "$recipe" \
      --set student.model_name="$model" --set seed="$seed" --set run.device="$device" --set held_out.split=0 "${extra[@]}")
  done
}

after() {
  local seed pair result
  for seed in "${seeds[@]}"; do
    measure_all "grpo-$seed" "$out/runs/grpo-$seed/outputs/final_model"
    for pair in test humaneval humaneval-plain sanitized mbpp; do
      result=$out/eval/compare-$seed-$pair.json
      [ -e "$result" ] && continue
      "$whet" eval compare "$out/eval/base-$pair" "$out/eval/grpo-$seed-$pair" --json > "$result.part"
      mv "$result.part" "$result"
    done
  done
}

model=$(realpath "$model")
out=$(realpath "$out")
recipe=$(realpath "$recipe")
case $whet in */*) whet=$(realpath "$whet") ;; esac
for part in "${@:-tasks base train after}"; do
  for each in $part; do "$each"; done
done
