"""What widely read texts say of the dispatcher, and what of it is so in PyTorch 2.13; why it is as it is."""
