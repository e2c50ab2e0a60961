"""All runs of a folder as one dataset, and where a workload's level changed."""
