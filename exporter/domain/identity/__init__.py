"""The firmware identity of VMs."""
