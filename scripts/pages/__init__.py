"""Pages of the site: texts of the checkout, and references made of schemas and commands."""
