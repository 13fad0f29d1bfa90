"""Thread-local state: the include and exclude sets, modes, and the guards that change them."""
