"""What commands print: text for people, and the formats of other programs."""
