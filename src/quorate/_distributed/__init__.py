"""Work on Dask collections: chunks are compressed where they are, and only distinct rows and labels travel."""
