"""Tests of structures for any number of batch dimensions."""

import pytest
import torch
from torch import Tensor

from sparsewood.testing.devices import hinge_loss, map, sparsemap
from sparsewood.testing.instances import Instances

_BATCHES = ((), (2, 3), (0, 2))


class BatchConformance(Instances):
    """Scores (*batch, *parts) give the results of the flattened batch. Configure as `Instances`.

    For structures with `parts_ndim`.
    """

    def test_any_batch_dimensions(self) -> None:
        n = self._size_for_batches()
        for batch in _BATCHES:
            count = torch.Size(batch).numel()
            flat = self.draw_scores("normal", count, self.shape(n), seed=7)
            flat = flat.masked_fill(~self.structure.reads(flat), torch.nan)
            scores = flat.reshape((*batch, *self.shape(n)))

            def same(found: Tensor, wanted: Tensor, batch: tuple[int, ...] = batch) -> bool:
                return torch.equal(found, wanted.reshape((*batch, *wanted.shape[1:])))

            best, wanted = map(scores, self.structure), map(flat, self.structure)
            assert same(best.structures, wanted.structures)
            assert same(best.scores, wanted.scores)
            for solver in (
                ("native", "generic") if self.structure.has_native_solver else ("generic",)
            ):
                post = sparsemap(scores, self.structure, solver=solver)
                expected = sparsemap(flat, self.structure, solver=solver)
                assert torch.equal(post.weights, expected.weights)
                for name in ("sizes", "marginals", "mode", "gap", "status"):
                    assert same(getattr(post, name), getattr(expected, name))
            margin = 0.0 if self.structure.costs_only else 1.0
            gold = best.structures.roll(1, 0) if len(batch) > 1 else best.structures
            loss = hinge_loss(scores, gold, self.structure, margin=margin, reduction="none")
            gold = gold.reshape(wanted.structures.shape)
            flat_loss = hinge_loss(flat, gold, self.structure, margin=margin, reduction="none")
            assert same(loss, flat_loss)

    def test_errors_name_the_index_in_the_batch(self) -> None:
        n = self._size_for_batches()
        flat = self.draw_scores("normal", 6, self.shape(n), seed=7)
        part = tuple(self.structure.reads(flat)[5].nonzero()[-1].tolist())
        scores = flat.reshape(2, 3, *self.shape(n))
        scores[(1, 2, *part)] = torch.nan
        at = ", ".join(str(i) for i in (1, 2, *part))
        for infer in (map, sparsemap):
            with pytest.raises(ValueError, match=rf"scores\[{at}\].*instance \(1, 2\)"):
                infer(scores, self.structure)

    def _size_for_batches(self) -> int:
        if self.structure.parts_ndim is None:
            pytest.skip("the structure does not define parts_ndim")
        assert len(self.shape(self.sizes[1])) == self.structure.parts_ndim
        return self.sizes[1]
