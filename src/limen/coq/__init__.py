"""Everything about Coq: what proofs/ states at given sizes, and running coqc on it."""
