"""Pictures of results, drawn with matplotlib, which is loaded when the first one is drawn."""
