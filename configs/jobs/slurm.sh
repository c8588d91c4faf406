#!/usr/bin/env bash
# sbatch configs/jobs/slurm.sh team.toml [more arguments of host train]
# One run as a Slurm job. Before its time is over it stops and saves, and is queued again; it goes on
# where it stood. With ENGINE=FOLDER a server that speaks Tinker's protocol is started first, over
# the base in that folder (its environment: `cargo xtask engine`).
#SBATCH --job-name=troupe
#SBATCH --time=04:00:00
#SBATCH --requeue
#SBATCH --open-mode=append
# Three minutes before the end: longer than a step takes.
#SBATCH --signal=B:USR1@180
set -uo pipefail
host=${HOST:-host}
runs=${RUNS:-runs}
run=$runs/$SLURM_JOB_NAME

if [ -n "${ENGINE:-}" ]; then
    port=${ENGINE_PORT:-8123}
    mkdir -p "$runs/engine"
    tests/engine/serve.sh "${ENGINE_VENV:-.deps/engine/venv}" "$ENGINE" "$runs/engine" "$port" \
        "${ENGINE_BACKEND:-{\"max_lora_adapters\":4,\"max_lora_rank\":16\}}" \
        > "$runs/engine/server.log" 2>&1 &
    server=$!
    trap 'kill "$server"' EXIT
    until curl --silent --fail "http://127.0.0.1:$port/api/v1/healthz" > /dev/null; do
        kill -0 "$server" || exit 1
        sleep 2
    done
fi

if [ -d "$run" ]; then
    "$host" train --resume "$run" &
else
    "$host" train "$@" --set "run.dir=$runs" --set "run.name=$SLURM_JOB_NAME" &
fi
training=$!
trap 'kill -USR1 "$training"' USR1
trap 'kill -TERM "$training"' TERM
# A signal interrupts the waiting, not what is waited for.
while kill -0 "$training" 2> /dev/null; do
    wait "$training"
    code=$?
done
if [ "$code" = 138 ]; then
    scontrol requeue "$SLURM_JOB_ID"
fi
exit "$code"
