"""Foreign formats in and out: standardized results, structured captures, dumps, estimates."""
