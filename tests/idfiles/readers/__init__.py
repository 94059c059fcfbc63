"""Reading files of ids."""
