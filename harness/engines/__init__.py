"""What turns a model into code on the target."""
