"""What was spoken before."""
