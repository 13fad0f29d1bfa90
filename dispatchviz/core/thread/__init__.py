"""Thread-local state: included and excluded keys, modes, and the guards that change them."""
