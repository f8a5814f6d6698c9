"""What everything stands on: argument checks, files that are whole or not there, tables, progress."""
