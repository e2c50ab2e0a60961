"""The code of each custom kernel: PTX, registers, spills, shared memory, and how wide its loads are.

Collected where a run is measured, into captures/kernel_code.json; kernels.csv and kernels/*.ptx are made from that, also on
a replay, and checked against the registers that the trace has of the launches.
"""
