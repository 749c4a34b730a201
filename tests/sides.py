"""Instances with two sides for the conformance kit: equal or different sizes."""


class Square:
    has_lengths = True
    shape = size = length = staticmethod(lambda n: (n, n))


class MoreRows:
    has_lengths = True
    sizes = (1, 2)
    shape = size = length = staticmethod(lambda n: (n + 2, n))


class MoreColumns:
    has_lengths = True
    sizes = (1, 2)
    shape = size = length = staticmethod(lambda n: (n, n + 2))
