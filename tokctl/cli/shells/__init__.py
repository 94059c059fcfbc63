"""What shells are told of the command line: completion and man pages, made from the one tree of
commands that the help is made from.

`python -m tokctl.cli.shells FOLDER` writes all of it where an installation keeps such files.
"""
