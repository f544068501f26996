"""How many bits a task needs, from its rows or from its communication matrix."""
