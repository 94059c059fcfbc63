"""`tokctl encode --count`: what its options are, how it runs, what it shows."""
