"""Several processes of one program."""
