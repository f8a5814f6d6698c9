"""LAPACK's own tests of dense linear algebra as a judge of ours: its types of matrices and its
ratios, written anew in NumPy.

A ratio measures a result against its own input, in units of what rounding may do; no other
implementation is asked. What is below `ratios.THRESHOLD` is right. The types and ratios are those
of LAPACK's TESTING/LIN (LAPACK Working Note 41, section 5).
"""
