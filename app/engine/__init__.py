"""Joins session, playback, sound and metrics; knows no front end."""
