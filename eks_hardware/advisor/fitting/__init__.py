"""Whether and how a model sits on hardware: gates, memory, layout, and what would make it fit."""
