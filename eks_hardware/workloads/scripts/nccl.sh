# All-reduce over every GPU of every node.
cat >/tmp/all_reduce.py <<'PYTHON'
@all_reduce.py.in@
PYTHON
rm -f /tmp/nccl.*.log
export NCCL_DEBUG=INFO NCCL_DEBUG_FILE=/tmp/nccl.%p.log
torchrun /tmp/all_reduce.py || fail "nccl: all-reduce over $EXPECTED_RANKS GPUs"
if [ "$PET_NNODES" -gt 1 ] && [ "$EXPECTED_EFA" -gt 0 ]; then
  # NCCL falls back to TCP without a message.
  grep -qi "NET/OFI selected provider is efa" /tmp/nccl.*.log || fail "nccl: NCCL does not use EFA"
  echo "ok   nccl: over EFA"
fi
