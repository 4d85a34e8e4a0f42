"""Widgets that know nothing of where they stand, each named for what it shows."""
