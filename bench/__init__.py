"""The benchmark: `./run bench`."""
