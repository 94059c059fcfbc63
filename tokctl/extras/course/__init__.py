"""The tutorial's exercises and their grader."""
