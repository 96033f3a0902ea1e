"""What the services keep things in: documents (truth), the lane, bells and tails (speed), blobs (size)."""
