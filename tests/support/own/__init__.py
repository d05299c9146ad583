"""The model whose leaves have their own noise: a plain twin, exact posteriors, and the engine."""
