"""What one boot of one image said: frames, boot conversation, passes."""
