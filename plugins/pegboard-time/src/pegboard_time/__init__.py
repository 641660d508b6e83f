"""Time tools for Pegboard: `get_time` and `convert_time`."""
