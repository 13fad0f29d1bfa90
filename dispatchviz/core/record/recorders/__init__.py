"""What the machine says while it runs, a subject a module; ``core/notes.py`` joins them into the ``Recorder``."""
