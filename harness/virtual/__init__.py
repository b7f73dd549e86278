"""Stand-ins for hardware: QEMU boards, the virtual J-Link library, the counter plugin. Only the bench imports this."""
