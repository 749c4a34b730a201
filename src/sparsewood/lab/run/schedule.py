"""When the learning rate rises and falls, and when training ends."""

from dataclasses import dataclass


@dataclass
class Schedule:
    """The learning rate falls after each epoch without a new best; too many in a row end it.

    Attributes:
        lr: of the next epoch.
        best: the best value on validation so far.
        best_epoch: the epoch that reached it; 0 before the first.
        bad: epochs since then.
    """

    lr: float
    best: float | None = None
    best_epoch: int = 0
    bad: int = 0

    def update(self, epoch: int, value: float, *, higher_is_better: bool, decay: float) -> bool:
        """Take the value of an epoch into account; whether it is the best so far."""
        better = self.best is None or (value > self.best if higher_is_better else value < self.best)
        if better:
            self.best, self.best_epoch, self.bad = value, epoch, 0
        else:
            self.lr *= decay
            self.bad += 1
        return better

    def over(self, epoch: int, max_epochs: int, patience: int | None) -> bool:
        """Whether training ends after `epoch`."""
        return epoch >= max_epochs or (patience is not None and self.bad >= patience)


def share(done: int, *, warm_up: int = 0, steps: int | None = None) -> float:
    """The share of the learning rate that the step after `done` others takes.

    It rises evenly to 1 in `warm_up` steps, and falls evenly to 0 at the end of `steps`, if given.
    """
    risen = (done + 1) / warm_up if warm_up else 1.0
    left = 1.0 if steps is None else max(0.0, 1 - done / steps)
    return min(1.0, risen, left)
