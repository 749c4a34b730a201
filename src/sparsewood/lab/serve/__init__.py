"""A local server: a page and one JSON endpoint for the predictions of models."""
