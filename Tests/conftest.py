"""Makes `server` importable from the tests in the folders below."""
