"""Which replica writes: one Lease, and for how long it is surely held."""
