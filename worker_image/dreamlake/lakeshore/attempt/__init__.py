"""The end of an attempt: how its failure is described, and whether another one follows."""
