"""What the machine says while it runs, a subject a module; ``machine_recorder.py`` joins them into the ``Recorder``."""
