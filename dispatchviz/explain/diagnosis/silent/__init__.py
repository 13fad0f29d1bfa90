"""Rules for silent mistakes, for which PyTorch raises no error."""
