"""How tasks are taught, one file a task; a task without a file has the plain lesson."""
