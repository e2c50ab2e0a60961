"""Two runs row by row: may they be compared, which samples does each row rest on, and what do those say."""
