"""Colours, spacing, type and icons, each in one place."""
