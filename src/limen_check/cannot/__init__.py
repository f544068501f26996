"""CANNOT: bounds derived again from the texts of a task and an architecture, in whole numbers."""
