"""What a reader may be asked before it is shown: questions made from a trace, every choice with its reason.

A ``Prediction`` is a value that knows no screen. Not here: how it is asked (``views/predictions``).
"""
