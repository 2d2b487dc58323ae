#!/bin/sh
# PPO beside GRPO beside SFT for one seed: benches/preferences/run.sh SEED [FLAG ...]
#
# Flags go to `whet run`, for example --device cuda. `WHET` names the binary [default: whet]. Prints the
# figures of every evaluation beside those of SFT, with paired intervals; runs/preferences-SEED has the rest.
set -eu
seed=$1
shift
whet=${WHET:-whet}
here=$(dirname "$0")
run=preferences-$seed
"$whet" -q run "$here/sft.toml" --run "sft-$seed" --set "seed=$seed" "$@"
[ -d "runs/sft-$seed/merged" ] ||
    "$whet" -q export embedded --adapter "runs/sft-$seed/stages/sft/outputs/final_model" --dtype f32 \
        --out "runs/sft-$seed/merged"
"$whet" -q run "$here/compare.toml" --run "$run" --set "seed=$seed" \
    --set "student.model_name=runs/sft-$seed/merged" "$@"
for results in "runs/$run"/stages/*-eval; do
    name=$(basename "$results" -eval)
    echo "== seed $seed: $name"
    [ "$name" = sft ] || "$whet" eval compare "runs/$run/stages/sft-eval" "$results"
done
