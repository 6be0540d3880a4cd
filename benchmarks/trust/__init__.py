"""How often noise is called structure, and how often planted structure is missed."""
