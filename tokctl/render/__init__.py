"""What a person looks at. Only this room imports Rich; it sees result types only."""
