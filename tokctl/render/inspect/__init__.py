"""What `tokctl inspect` answers: `model`, `training`, `tokens` and `words` build one `Answer` for
each result."""
