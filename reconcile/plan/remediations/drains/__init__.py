"""Remediations of evictions, and of VMs that were stopped for a drain."""
