"""A model run as messages between players, their bits counted; protocols/ says who holds which tokens."""
