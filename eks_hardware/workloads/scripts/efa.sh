# Counts the pod's EFA interfaces in /dev and in libfabric.
same "efa: /dev" "$(find /dev/infiniband -name 'uverbs*' 2>/dev/null | wc -l)" "$EXPECTED_EFA"
fabrics=$(fi_info -p efa -t FI_EP_RDM) || fail "efa: libfabric does not find the provider efa"
# A device can be listed once per fabric, with the endpoint's type after its name.
domains=$(sed -nE 's/^ *domain: *//p' <<<"$fabrics" | sed -E 's/-(rdm|dgrm|direct)$//' | sort -u)
same "efa: fi_info" "$(grep -c . <<<"$domains" || true)" "$EXPECTED_EFA"
