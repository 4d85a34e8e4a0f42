"""Widgets of the main window, each named for what it shows."""
