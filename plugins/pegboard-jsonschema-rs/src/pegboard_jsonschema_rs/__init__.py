"""Tools for Pegboard."""
