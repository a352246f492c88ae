"""Carries out remediations for findings of the exporter. Nothing is here yet: no remediation exists."""
