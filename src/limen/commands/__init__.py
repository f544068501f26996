"""What can be asked, one file a command; a folder is a group of commands."""
