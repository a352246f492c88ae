"""Connections, TLS, and how answers are sent."""
