"""Checks of IPAMClaims and of the networks that they are of."""
