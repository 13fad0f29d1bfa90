"""Questions about a step before it is shown, created from a trace. Every choice has its reason.

A ``Prediction`` is a value that knows no screen. ``views/predictions`` asks the questions.
"""
