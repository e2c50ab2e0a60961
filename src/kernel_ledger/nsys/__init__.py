"""Nsight Systems: found, told what to record, exported, and its exports read."""
