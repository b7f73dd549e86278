"""Ground floor: errors, atomic files, strict JSON, rooted paths, semantic hashes, deadlines, processes."""
