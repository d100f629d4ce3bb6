"""What the view knows of leases, queues, operations and signals, and the changes that move it; pure."""
