"""What the service does, counted for Prometheus (S145 to S151)."""

from dragoman.metrics.recorder import Metrics

__all__ = ["Metrics"]
