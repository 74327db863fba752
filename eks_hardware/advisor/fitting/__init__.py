"""Whether and how a model fits on hardware: gates, memory, layout, and changes that would make it fit."""
