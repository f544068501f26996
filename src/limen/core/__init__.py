"""The words of the field: task, mixer, architecture, numbers, certificate, verdict, report."""
