"""The debug link: J-Link through pylink, and the transports that carry bytes off the target."""
