"""Power monitors, waveforms, gating, energy with its uncertainty."""
