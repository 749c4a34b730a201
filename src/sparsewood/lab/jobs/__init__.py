"""Where runs are executed: processes on this machine, or a Ray cluster."""
