"""What is compared, and how: domains of inputs, metrics between neighbours, and measures of loss.

It may import errors, numerics, tables and spaces.curves.
"""
