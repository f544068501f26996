"""(architecture, task, seed) -> measurement: training on one core, sweeps on many."""
