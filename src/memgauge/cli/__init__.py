"""The command line: thin functions that parse, call and print. Heavy imports stay inside the bodies."""
