"""ETDump and ETRecord, read without the SDK."""
