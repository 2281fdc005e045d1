"""A, carried out: a language model works on a step, with tools or in plain text, within a budget."""
