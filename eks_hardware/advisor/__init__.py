"""Which hardware suits a workload: what fits, how fast it is, what it costs, and what to choose."""
