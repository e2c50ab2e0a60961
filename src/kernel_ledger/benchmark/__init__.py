"""make bench: what reading large captures costs beside other tools, and what orchestration adds on a GPU."""
