"""The shape of a model: from its config.json, from the workload's fields, or estimated."""
