"""What is remembered beyond the objects that showed it: bounded, in memory alone, and read by no check and no state."""
