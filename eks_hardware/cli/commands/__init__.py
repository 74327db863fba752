"""One module for each command, with its name; helpers lie outside this folder."""
