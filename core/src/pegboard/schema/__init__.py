"""Schemas: derived from type hints, checked, explained and repaired."""
