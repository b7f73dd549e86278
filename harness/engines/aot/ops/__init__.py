"""One module a family of operators: what it accepts, and the kernel call it becomes."""
