"""The style of what users read, held by Vale: `make texts`."""
