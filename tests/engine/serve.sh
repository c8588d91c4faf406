#!/usr/bin/env bash
# Starts SkyRL's server of Tinker's protocol in the foreground:
# serve.sh VENV MODEL_FOLDER STATE_FOLDER PORT BACKEND_CONFIG_JSON
set -euo pipefail
venv=$1 model=$2 state=$3 port=$4 backend=$5
mkdir -p "$state"
export VIRTUAL_ENV=$venv PATH="$venv/bin:$PATH"
# All that is needed is there: nothing is fetched.
export HF_HUB_OFFLINE=1 TRANSFORMERS_OFFLINE=1 UV_OFFLINE=1 UV_PYTHON_DOWNLOADS=never
# Kernels that took a second or more to compile are kept for the next start.
export JAX_COMPILATION_CACHE_DIR=${JAX_COMPILATION_CACHE_DIR-$state/jax-cache}
# The server starts its engine by repeating the `uv run` that it was started with.
exec uv run --no-project -m skyrl.tinker.api \
    --host 127.0.0.1 --port "$port" --base-model "$model" \
    --backend jax --backend-config "$backend" \
    --checkpoints-base "$state/checkpoints" --database-url "sqlite:///$state/tinker.db"
