"""A model run as a conversation between players, its bits counted; one file a way to share the text out."""
