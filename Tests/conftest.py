"""Makes the module `server` importable from all tests in the folders below."""
