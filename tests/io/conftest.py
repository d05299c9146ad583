from tests.support.saved import fitted

__all__ = ["fitted"]
