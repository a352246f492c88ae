"""All I/O with the API server. Nothing outside knows how it is reached."""
