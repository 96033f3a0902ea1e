"""Wake-ups between requests, on one replica and across replicas."""
