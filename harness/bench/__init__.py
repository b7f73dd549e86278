"""What a host can reach: boards by serial, locks, leases, providers."""
