"""How positions exchange information, one file a mechanism; the file name is the mixer's id."""
