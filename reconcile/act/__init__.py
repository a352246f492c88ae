"""What is sent to the cluster, and what came of it."""
