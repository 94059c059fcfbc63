"""The stand-ins for other libraries, beside these."""
