"""The methods that the machine calls while it is recorded, a subject a module; ``machine_recorder.py`` joins them."""
