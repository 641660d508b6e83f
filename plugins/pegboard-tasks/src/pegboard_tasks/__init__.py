"""Task tools for Pegboard: `add_task`, `list_tasks`, `complete_task`, `delete_task` and `update_task`."""
