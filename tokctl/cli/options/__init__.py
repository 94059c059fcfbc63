"""Catalogue of the command line: every option and argument once, by command."""
