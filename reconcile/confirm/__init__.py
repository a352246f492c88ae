"""Whether a finding still holds, on fresh reads."""
