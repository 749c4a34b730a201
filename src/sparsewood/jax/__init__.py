"""The library's calls on jax arrays, within `jit`, `vmap` and `grad`.

>>> import jax.numpy as jnp
>>> import sparsewood as sp
>>> import sparsewood.jax as spj
>>> scores = jnp.array([[[1.5, 0.0, 1.0], [0.0, 1.0, 0.0]]])
>>> post = spj.sparsemap(scores, sp.DependencyTrees(), max_active=3)
>>> post.structures[0].tolist(), post.weights[0].tolist()
([[0, 1], [2, 0], [0, 1]], [0.875, 0.125, 0.0])

Structures are those of `sparsewood`, such as `sp.DependencyTrees()`. Needs the extra `jax`; no
other module of the library imports this one.
"""

from importlib.util import find_spec

from sparsewood._internal.extras import how_to_install

if find_spec("jax") is None:
    raise ModuleNotFoundError(
        f"sparsewood.jax needs jax (extra [jax]): {how_to_install('jax')}", name="jax"
    )

from sparsewood.jax.losses import crf_loss, hinge_loss, perceptron_loss, sparsemap_loss
from sparsewood.jax.map import Best, map
from sparsewood.jax.marginals import StructureDistribution, marginals
from sparsewood.jax.posterior import SparsePosterior
from sparsewood.jax.sparsemap import sparsemap

__all__ = [
    "Best",
    "SparsePosterior",
    "StructureDistribution",
    "crf_loss",
    "hinge_loss",
    "map",
    "marginals",
    "perceptron_loss",
    "sparsemap",
    "sparsemap_loss",
]
