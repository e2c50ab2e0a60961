"""The measured processes: one module for each pass.  They import torch; nothing else of the library does."""
