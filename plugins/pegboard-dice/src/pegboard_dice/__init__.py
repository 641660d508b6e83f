"""A dice tool for Pegboard: `roll_dice`."""
