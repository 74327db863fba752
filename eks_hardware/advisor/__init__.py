"""The hardware advisor: what fits a workload, how fast it is, what it costs, and what to choose."""
