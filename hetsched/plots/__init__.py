"""Pictures of plans and traces."""
