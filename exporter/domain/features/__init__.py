"""Features: what the cluster allows, and what VMs ask for."""
