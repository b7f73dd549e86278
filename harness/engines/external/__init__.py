"""The engine `external`: a runtime from a directory of the user, pinned by its digest."""
