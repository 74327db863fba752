"""From a recommendation to a strategy: written as a file, or filled into a strategy and locked."""
