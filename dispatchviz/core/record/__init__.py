"""What a recording is made of: notes that the machine emits while it runs, and the events that are built from them."""
