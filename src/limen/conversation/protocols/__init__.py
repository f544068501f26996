"""Ways to share a text out among the players of a conversation, one file each."""
