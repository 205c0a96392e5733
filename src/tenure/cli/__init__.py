"""The command line: thin verbs that parse, call and print.

`main` holds the group and turns errors into exit codes; each family of verbs is a module of its own, imported
when it is called.
"""
