"""How text is laid out and written, whatever it says."""
