"""All I/O with the API server; nothing outside this package knows how it is reached."""
