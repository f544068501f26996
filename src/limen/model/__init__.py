"""A model: its parts, its files, its run on a task."""
