"""One module per command, with the command's name. Helper modules are outside this folder."""
