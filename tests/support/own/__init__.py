"""A plain twin of the model with own noise, its exact posteriors, and the engine beside them."""
