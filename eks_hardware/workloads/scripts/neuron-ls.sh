# Every Neuron device of the pod, as the kernel and as the tools see it.
same "neuron: /dev" "$(find /dev -maxdepth 1 -regex '/dev/neuron[0-9]+' | wc -l)" "$EXPECTED_NEURON_DEVICES"
devices=$(neuron-ls --json-output) || fail "neuron-ls: does not run; has the node a driver?"
same "neuron-ls" "$(grep -oE '"neuron_device": *[0-9]+' <<<"$devices" | sort -u | wc -l)" "$EXPECTED_NEURON_DEVICES"
