"""Tasks told in English, one file a task; the file name is the task's id."""
