"""Pure elasticity policies and their simulator."""
