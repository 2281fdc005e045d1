"""The mutators: small pure functions from a node to the changes that a defect there may need."""
