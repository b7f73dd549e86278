"""From a plan to an ELF: toolchains, firmware project, compile cache, ELF facts, build records."""
