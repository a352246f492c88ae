"""The product's API server with what only tests need: faults, writes over HTTP, and a look at who is connected."""
