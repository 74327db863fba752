"""The model: its shape, from its config.json, from what the workload says, or estimated."""
