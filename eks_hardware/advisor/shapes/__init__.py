"""The shape of a model: from its name or config.json, from the workload's fields, or estimated."""
