"""A fuzzer: every family, every call, hostile values, checked against enumeration.

    python -m tests.fuzz --calls 100000 --seed 1 --jobs 2

Case `i` of seed `S` is the same on every machine: `--seed S --case i` runs it again. One call is
one public call on one batch.
"""
