"""Programs with the diagnosis that each must have (``CASES``), and sound ones (``SOUND``)."""
