"""The Python part of functorch (``torch/_functorch``)."""
