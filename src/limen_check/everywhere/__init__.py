"""RIGHT EVERYWHERE: the least margin of a model of one layer over all inputs of its task."""
