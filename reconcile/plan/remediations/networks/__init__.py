"""Remediations of IPAMClaims."""
