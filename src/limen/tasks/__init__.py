"""What is to be computed, one file a task; the file name is the task's id."""
