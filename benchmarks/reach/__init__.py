"""pegboard-nats in numbers: a simulated network for many machines, and what both ends cost beside others."""
