"""Hypotheses as data: declared in config.yaml, frozen in plan.json, tried on every run, written to claims.csv.

A claim never changes the verdict: it says what was expected, the run says whether it came out so.
"""
