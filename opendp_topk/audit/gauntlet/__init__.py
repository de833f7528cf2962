"""The mutation gauntlet: faults that are planted in copies of the package, and the checks that must notice them."""
