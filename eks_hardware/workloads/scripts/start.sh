set -euo pipefail
export PATH="$PATH:/opt/amazon/efa/bin:/opt/aws/neuron/bin"
fail() { echo "FAIL $*" >&2; exit 1; }
same() { [ "$2" = "$3" ] || fail "$1: found $2, expected $3"; echo "ok   $1: $2"; }
