"""From an evaluation to a verdict: resolve, collect facts, ask the policy, interpret; pure but for the engine call."""
