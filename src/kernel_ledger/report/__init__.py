"""What people read of a run, made from results.csv, verdict.json and timing alone."""
