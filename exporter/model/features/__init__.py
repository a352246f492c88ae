"""Features: what the cluster allows, what VMs ask for, and what becomes of a VM where the two disagree."""
