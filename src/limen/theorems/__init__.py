"""What is limited: one folder a theorem, with its proof, inequality, Coq forms and search for sizes."""
