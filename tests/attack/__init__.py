"""Attacks on the library: bad inputs, hostile files, signals, hard numbers, partitions.

Each surface is a file with a function ``cases``, tables of cases in a few lines each. ``oracle.py``
says of a case whether it ended in a clear error, a right answer or something wrong. The tests take
some cases of each surface; ``python dev.py fuzz`` takes all, and then draws
its own with hypothesis.
"""
