"""The evidence table: architectures × tasks, and in every cell a verdict with evidence made on the spot."""
