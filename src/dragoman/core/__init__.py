"""The neutral model: what every surface parses into, and every engine answers. Standard library only."""
