# Counts the pod's Neuron devices in /dev and in neuron-ls.
same "neuron: /dev" "$(find /dev -maxdepth 1 -regex '/dev/neuron[0-9]+' | wc -l)" "$EXPECTED_NEURON_DEVICES"
devices=$(neuron-ls --json-output) || fail "neuron-ls: does not run; does the node have a driver?"
same "neuron-ls" "$(grep -oE '"neuron_device": *[0-9]+' <<<"$devices" | sort -u | wc -l)" "$EXPECTED_NEURON_DEVICES"
