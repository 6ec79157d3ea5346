"""One function for each kind of picture: (truth, generator of the jitter) to sheet."""
