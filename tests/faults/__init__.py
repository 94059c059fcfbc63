"""Work that is stopped, starved or lied to: what is left is whole or absent, and goes on."""
