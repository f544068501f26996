"""The bytes that weights take: by scheme, in files, and on the ranks of an engine."""
