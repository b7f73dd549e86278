"""`.tflite` models: checked as files first, then read; operators, tensors, MACs. Never trusted by name."""
