"""CAN: saved weights solve their task on every input, derived from the files and untrusted hints."""
