"""Where every program's wish to be heard arrives: one desk in front of one engine."""
