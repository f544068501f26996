"""The report: one page that opens from a file, with nothing to fetch."""
