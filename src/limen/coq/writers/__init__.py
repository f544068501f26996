"""The forms of a theorem in Coq, one file a theorem; the file name is the theorem's id."""
