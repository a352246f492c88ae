"""The product's API server with what only tests need: faults, and a look at who is connected."""
