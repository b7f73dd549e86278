"""Neural-statistics captures, schema version 2."""
