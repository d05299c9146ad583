"""From a table and parameters to draws: the choice of a model, schedules, chains."""
