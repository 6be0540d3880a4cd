"""Tables that are larger than memory: blocks are read, coded and compressed one by one, and labels go out in blocks."""
