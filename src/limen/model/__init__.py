"""A model: embedding, layers, readout, files; one forward pass, which can be observed."""
