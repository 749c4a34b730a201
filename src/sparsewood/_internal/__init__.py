"""Private helpers of the library."""
