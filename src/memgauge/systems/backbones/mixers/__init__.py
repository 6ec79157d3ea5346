"""One file a mixer: each has `layer(width, index, **options)`, which builds the layer at a position of the backbone."""
