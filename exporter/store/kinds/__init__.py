"""The kinds that are read: one module each, with the wire struct, the record that is kept, and `KIND`."""
