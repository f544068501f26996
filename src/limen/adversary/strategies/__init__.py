"""Search for an input that fools a given model, one file a way to search."""
