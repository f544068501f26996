"""The papers' illustrations, one file each: `limen demo NAME`."""
