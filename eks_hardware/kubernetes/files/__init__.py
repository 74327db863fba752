"""A bundle written to a folder, for Argo CD, Flux or kubectl."""
