# Every GPU or MIG slice of the pod, counted.
gpus=$(nvidia-smi -L) || fail "nvidia-smi: does not run; has the node a driver?"
echo "$gpus"
same "nvidia-smi" "$(grep -cE "$EXPECTED_GPU_LINES" <<<"$gpus" || true)" "$EXPECTED_GPUS"
