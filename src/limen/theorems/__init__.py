"""What is limited: statement, proof, bound and, where the proof is constructive, its run; one file each."""
