"""What a task asks of every architecture."""
