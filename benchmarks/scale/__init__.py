"""How time and memory grow with the number of objects: every stage alone and the whole, kept in results.jsonl."""
