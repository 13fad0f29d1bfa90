"""Factory functions: ``empty``, ``full``, ``arange``, ``linspace``, ``eye``."""
