"""From candidates to results: joins the two legs, looks closer at the best, and shows the lines that matter."""
