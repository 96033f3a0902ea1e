"""The rules of the control plane. Routes call them; they speak to the stores through ports."""
