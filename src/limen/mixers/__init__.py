"""How positions exchange information, one file a mixer; recurrence/ runs matrix memories, by torch or C."""
