"""The model compared with the records of PyTorch (``truth/records``)."""
