"""An output module for speech-dispatcher, so that a screen reader speaks through Nearfield."""
