"""System tools for Pegboard: `echo`, `system_info`, `execute_command`."""
