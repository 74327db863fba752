"""How fast it runs there: estimates, each with what it assumes."""
