"""A local server: a page and one JSON endpoint that say what models make of a sentence."""
