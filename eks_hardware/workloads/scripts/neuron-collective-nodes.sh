# All-reduce over every NeuronCore of every node.
cat >/tmp/all_reduce.py <<'PYTHON'
@neuron_all_reduce.py.in@
PYTHON
torchrun /tmp/all_reduce.py || fail "neuron-collective: all-reduce over $EXPECTED_RANKS cores"
