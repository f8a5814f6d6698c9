"""Shared by all modules: argument checks, files written whole or not at all, tables, progress."""
