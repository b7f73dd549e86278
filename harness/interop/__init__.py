"""Foreign formats in and out: standardized results, neural-statistics captures, ETDump, Vela."""
