"""Measurements made of measurements. Nothing here draws or reads data: what is drawn is the measurements' own."""
