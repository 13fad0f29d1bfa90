"""The model compared with the records of what PyTorch did (``truth/records``)."""
