"""What PyTorch generates when it is built, written by ``core/codegen`` (``make generate``); never edited by hand."""
