"""What is compared, and how: domains of inputs, metrics between neighbours, measures of loss, and curves.

Imports errors, numerics, and tables for the domains of frames.
"""
