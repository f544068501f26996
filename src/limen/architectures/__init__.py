"""Named stacks, and ways of running one."""
