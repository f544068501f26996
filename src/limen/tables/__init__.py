"""The evidence table: architectures × tasks, in every cell a verdict with evidence made on the spot."""
