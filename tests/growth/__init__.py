"""How work grows with the input: steps are counted, not seconds. See `run` in this folder."""
