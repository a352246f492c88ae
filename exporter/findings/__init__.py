"""What a finding is, what a check declares, and the one way to evaluate it. Pure."""
