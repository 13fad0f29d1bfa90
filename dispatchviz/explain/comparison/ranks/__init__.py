"""Several processes of one program: their collectives, their lanes, and collectives that cannot end."""
