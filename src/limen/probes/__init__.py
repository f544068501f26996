"""Language models of this machine: tasks as text, and which layers it needs."""
