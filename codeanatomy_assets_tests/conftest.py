"""Fixtures that tests of several stages share."""
