"""What is served over HTTP: metrics, the JSON API, the page, health."""
