# Counts the pod's GPUs or MIG slices.
gpus=$(nvidia-smi -L) || fail "nvidia-smi: does not run; does the node have a driver?"
echo "$gpus"
same "nvidia-smi" "$(grep -cE "$EXPECTED_GPU_LINES" <<<"$gpus" || true)" "$EXPECTED_GPUS"
