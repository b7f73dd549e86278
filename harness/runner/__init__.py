"""One run: a leased board and an image become a bundle. The only place that sequences hardware."""
