"""Constructions as checkpoints: explicit weights in the shapes of transformers' own models."""
