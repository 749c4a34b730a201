"""Many runs: tables, comparisons, sweeps and their statistics."""
