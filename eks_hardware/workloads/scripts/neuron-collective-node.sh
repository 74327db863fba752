# All-reduce over every NeuronCore of the node, with a check of the sums.
result=$(nccom-test all_reduce --nworkers "$EXPECTED_RANKS" --datatype fp32 --non-interactive --check 2>&1) ||
  { echo "$result"; fail "neuron-collective: all-reduce over $EXPECTED_RANKS cores"; }
echo "$result"
grep -q "Avg bus bandwidth" <<<"$result" || fail "neuron-collective: no bandwidth reported"
echo "ok   neuron-collective: $EXPECTED_RANKS cores"
