"""The page's figures: what each shows, as rows with marks; the template draws them."""
