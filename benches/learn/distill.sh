#!/bin/sh
# On-policy distillation beside SFT on the teacher's samples and GRPO, at equal student tokens:
#
#   benches/learn/distill.sh WHET OUT [FLAG ...]
#
# Flags go to every command that computes, for example --device cuda. Makes a student and a larger teacher of the embedded
# student's family: the same corpus, so the same vocabulary, the teacher wider, deeper and trained for longer. Then, for
# each seed, from the same student: SFT on the teacher's passing samples, GRPO, and distillation alone. Every arm
# takes the same number of steps of the same number of sequences. Prints pass@1 at temperature 1, 0.6 and greedy of
# every arm, and the differences over seeds.
#
# Sizes are environment variables: TASKS, STUDENT_STEPS, TEACHER_STEPS, STEPS, BATCH (sequences a step, a multiple of
# 16), SAMPLES (of the teacher, a task), EVAL_TASKS, EVAL_SAMPLES, SEEDS, and the learning rates SFT_LR, GRPO_LR and DISTILL_LR.
set -eu
whet=$(realpath "$1")
out=$2
shift 2
: "${TASKS:=8000}" "${STUDENT_STEPS:=900}" "${TEACHER_STEPS:=2000}" "${STEPS:=100}" "${BATCH:=128}" "${SAMPLES:=4}"
: "${EVAL_TASKS:=200}" "${EVAL_SAMPLES:=4}" "${SEEDS:=1 2 3}" "${SFT_LR:=1e-3}" "${GRPO_LR:=1e-3}" "${DISTILL_LR:=1e-3}"
recipe=$(realpath "$(dirname "$0")/../../configs/recipes/tiny-student.toml")
mkdir -p "$out"
cd "$out"

# Tasks, a corpus, and two models with one vocabulary.
families=filter-map-reduce,list-building,slices,two-way,uniqueness
[ -d data ] || "$whet" -q data prepare --embedded "$TASKS" --families "$families" --out data
[ -f traces.jsonl ] || "$whet" -q teach --teacher embedded --tasks data/train.jsonl --out traces.jsonl

# A new model, fine-tuned on the corpus: NAME STEPS SIZE ...
model() {
    name=$1 steps=$2
    shift 2
    [ -d "begin-$name" ] || "$whet" -q model new "begin-$name" --corpus traces.jsonl --vocab 1536 --drop-system --dtype f32 "$@"
    [ -d "runs/$name/outputs/final_model" ] || "$whet" -q train sft --traces traces.jsonl --run "$name" --config "$recipe" \
        --set "student.model_name=begin-$name" --set "training.max_steps=$steps" --set training.save_steps=0 $flags
}
flags="$*"
model student "$STUDENT_STEPS" --width 192 --layers 5 --heads 3 --kv-heads 1 --ffn 512
model teacher "$TEACHER_STEPS" --width 256 --layers 8 --heads 4 --kv-heads 2 --ffn 768
student=runs/student/outputs/final_model
teacher=runs/teacher/outputs/final_model

# The teacher's samples of the training tasks, for SFT: passing and distinct ones.
[ -d samples ] || "$whet" -q eval --model "$teacher" --tasks data/train.jsonl --num-samples "$SAMPLES" --k 1 --skip-greedy \
    --set eval.temperature=1.0 --set grpo.max_completion_length=192 --out samples $flags
[ -f sampled.jsonl ] || "$whet" -q data traces --rollouts samples --tasks data/train.jsonl --per-task "$SAMPLES" --out sampled.jsonl

# pass@1 of a model at both temperatures and greedy: MODEL NAME
measure() {
    "$whet" -q eval --model "$1" --tasks data/val.jsonl --max-tasks "$EVAL_TASKS" --num-samples "$EVAL_SAMPLES" --k 1 \
        --temperature 1.0 --set grpo.max_completion_length=192 --out "eval/$2-T1" $flags
    "$whet" -q eval --model "$1" --tasks data/val.jsonl --max-tasks "$EVAL_TASKS" --num-samples "$EVAL_SAMPLES" --k 1 \
        --temperature 0.6 --skip-greedy --set grpo.max_completion_length=192 --out "eval/$2-T06" $flags
}

# One arm: SEED NAME COMMAND FLAG ...
arm() {
    seed=$1 name=$2-$1
    shift 2
    [ -d "runs/$name/outputs/final_model" ] || "$whet" -q train "$@" --run "$name" --set "seed=$seed" \
        --set "student.model_name=$student" --set lora.rank=32 --set lora.alpha=64 --set training.max_length=640 \
        --set "training.max_steps=$STEPS" --set training.per_device_train_batch_size=16 \
        --set "training.gradient_accumulation_steps=$((BATCH / 16))" --set training.save_steps=0 $flags
    [ -d "eval/$name-T06" ] || measure "runs/$name/outputs/final_model" "$name"
}

[ -d eval/student-T06 ] || measure "$student" student
[ -d eval/teacher-T06 ] || measure "$teacher" teacher
rollouts="--tasks data/train.jsonl --set grpo.max_completion_length=192 --set grpo.kl_coef=0 --set held_out.every_steps=0
    --set dual_source.teacher_sft_weight=0 --set dual_source.self_sft_weight=0"
for seed in $SEEDS; do
    arm "$seed" sft sft --traces sampled.jsonl --set "training.learning_rate=$SFT_LR"
    arm "$seed" grpo grpo $rollouts --set grpo.num_samples_per_prompt=8 --set "training.learning_rate=$GRPO_LR"
    arm "$seed" distill grpo $rollouts --set grpo.num_samples_per_prompt=2 --set "training.learning_rate=$DISTILL_LR" \
        --set dual_source.grpo_weight=0 --set dual_source.distill_weight=1 --set "dual_source.distill_teacher=$teacher"
done

# Evaluations of an arm over seeds: NAME SUFFIX
over_seeds() {
    list=
    for seed in $SEEDS; do list="$list${list:+,}eval/$1-$seed-$2"; done
    echo "$list"
}
for suffix in T1 T06; do
    for other in sft grpo; do
        echo "== distillation less $other, $suffix"
        "$whet" eval compare --seeds "$(over_seeds "$other" "$suffix")" "$(over_seeds distill "$suffix")" || true
    done
done
for dir in eval/*; do
    echo "== $dir"
    python3 - "$dir/evaluation_results.json" <<'PYTHON'
import json, sys

results = json.load(open(sys.argv[1]))
greedy = results.get("greedy")
print(json.dumps({"pass@k": results.get("pass_at_k"), "greedy": greedy}))
PYTHON
done
