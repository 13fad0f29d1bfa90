"""The methods that the machine calls while it is recorded, one module for each subject. ``machine_recorder.py`` joins
them.
"""
