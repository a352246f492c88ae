"""What the sidecar shows of its repairs: plans, metrics, health, and the server that has them."""
