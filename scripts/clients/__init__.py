"""Programs of others, each of which has to come through its turns with our server: ``python -m clients [NAME ...]``."""
