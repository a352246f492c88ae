"""What commands are called with: options that several share. Nothing here imports what a command needs to run."""
