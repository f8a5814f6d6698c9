"""This machine: its cores, and how fast they are."""
