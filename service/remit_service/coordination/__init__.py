"""The state machine of leases, queues, operations, preemption, signals and transfers; pure."""
