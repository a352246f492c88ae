"""What would be written for a finding, and what takes it back: plans, remediations, undos. Pure."""
