"""Generators of the documents: examples, pictures, pages, the site."""
