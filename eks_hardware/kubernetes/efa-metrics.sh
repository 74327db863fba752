#!/bin/sh
# Prints the counters of every EFA interface of the node in Prometheus' text format.
printf 'Content-Type: text/plain; version=0.0.4\r\n\r\n'
cd "${SYSFS:-/sys}/class/infiniband" || exit 0
for counter in $(ls ./*/ports/*/hw_counters | grep -v -e : -e lifespan | sort -u); do
  echo "# TYPE node_amazonefa_$counter counter"
  for file in */ports/*/hw_counters/"$counter"; do
    port="${file#*/ports/}"
    if read -r value <"$file"; then
      echo "node_amazonefa_$counter{device=\"${file%%/*}\",port=\"${port%%/*}\"} $value"
    fi
  done
done
