"""What a recorder makes of a run: facts while it runs, events when somebody looks, a trace that can be saved."""
