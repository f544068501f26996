"""Files and folders, of ours and of strangers: read strictly, written whole or not at all."""
