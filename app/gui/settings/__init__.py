"""The settings of the window: a dialog without a maze, in which every change counts at once."""
