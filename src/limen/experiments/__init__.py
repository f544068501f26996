"""The papers' experiments, one file each, as data; the file name is the experiment's id."""
