"""Helpers of the library that nobody outside should import."""
