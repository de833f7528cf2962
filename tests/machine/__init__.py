"""The statements that a proof assistant has checked: that it does, on which axioms, and that wrong ones fail."""
