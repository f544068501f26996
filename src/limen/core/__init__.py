"""The words that everything else is said in."""
