"""What every wheel must do where it is installed: solve, be right, and differentiate.

    python tests/smoke.py

Needs the library alone. An answer is compared with its closed form, gradients with finite
differences.
"""

import torch

import sparsewood as sp
from sparsewood import _native


def solved() -> sp.SparsePosterior:
    """The posterior over the three trees of two words, checked against the closed form."""
    scores = torch.tensor([[0.0, 9.0, 0.0], [0.2, 0.5, 9.0]], dtype=torch.float64)
    post = sp.sparsemap(scores, sp.DependencyTrees())
    # Heads [0, 1] score 0.5, and [2, 0] score 0.2 with no arc in common: their slopes 0.5 - 2p and
    # 0.2 - 2(1 - p) are equal at this p, and that of [0, 0], 0.2 - p - (1 - p), is smaller.
    p = (1 + (0.5 - 0.2) / 2) / 2
    assert post.structures.tolist() == [[0, 1], [2, 0]]
    torch.testing.assert_close(post.weights, torch.tensor([p, 1 - p], dtype=torch.float64))
    assert post.converged
    return post


def differentiates() -> None:
    """Gradients of a batch of every kind of oracle against finite differences."""
    generator = torch.Generator().manual_seed(0)
    families = {
        sp.DependencyTrees(): (3, 4, 5),
        sp.DependencyTrees(projective=True, single_root=True): (3, 4, 5),
        sp.LinearChain(): (3, 4, 3, 4),
        sp.Matching(): (3, 3, 4),
        sp.Subset(2): (3, 6),
    }
    for family, shape in families.items():
        scores = torch.randn(shape, generator=generator, dtype=torch.float64).requires_grad_()
        assert torch.autograd.gradcheck(lambda s, f=family: sp.sparsemap(s, f).marginals, (scores,))


def main() -> None:
    post = solved()
    differentiates()
    print("weights", post.weights.tolist())
    print(f"sparsewood {sp.__version__}, torch {torch.__version__}, {_native.__file__}")


if __name__ == "__main__":
    main()
