"""The four kinds of dependency trees."""

import pytest

import sparsewood as sp

FAMILIES = [
    sp.DependencyTrees(projective=projective, single_root=single_root)
    for projective in (False, True)
    for single_root in (False, True)
]
family = pytest.mark.parametrize("trees", FAMILIES, ids=str)
