"""What is known, shown to people: terminal, JSON, HTML."""
