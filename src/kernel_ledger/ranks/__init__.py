"""Several processes that are one measurement: the ranks of a group that torchrun starts, one GPU each."""
