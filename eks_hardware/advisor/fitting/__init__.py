"""Whether and how a model fits on hardware: gates, memory, layout, and what would make it fit."""
