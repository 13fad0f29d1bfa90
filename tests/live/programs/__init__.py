"""Programs that ``test_quiet.py`` runs plainly and recorded on an installed PyTorch: each prints its results exactly."""
