"""CodeAnatomy: a code property graph of a Python repository, kept current commit by commit."""

__version__ = "0.1.0"
