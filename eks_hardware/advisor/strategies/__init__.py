"""From an answer to a strategy: written as a file, or filled in where a strategy asks, and locked."""
