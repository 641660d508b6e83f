"""What tools looked like when a person accepted them: `pegboard.lock`."""
