"""JSON Schemas that a grammar can hold an answer to: checked, and written as that grammar reads them."""

from dragoman.core.json_schema.enforce import enforceable
from dragoman.core.json_schema.fault import SchemaFault
from dragoman.core.json_schema.patterns import PatternFault, rust_pattern

__all__ = ["PatternFault", "SchemaFault", "enforceable", "rust_pattern"]
