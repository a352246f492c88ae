"""Addresses and address pools."""
