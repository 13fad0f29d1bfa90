"""Programs that misbehave, beside Python and PyTorch: output, traceback and exit status are the same."""
