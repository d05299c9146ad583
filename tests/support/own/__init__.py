"""A plain twin of the model with own noise, exact posteriors of it, and the engine put beside them."""
