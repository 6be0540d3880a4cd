"""Steps that asv times over the history of the project; asv.conf.json."""
