"""Ways to search for an input that fools a given model, one file each."""
