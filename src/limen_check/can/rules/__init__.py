"""The rules by which layers are followed, one file each; `rules.md` proves them."""
