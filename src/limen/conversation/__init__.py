"""A model run as a conversation: what players tell each other, its bits counted, its report."""
