"""Products of matrices in files."""
