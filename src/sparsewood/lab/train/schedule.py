"""When the learning rate falls and when training ends."""

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

    def over(self, epoch: int, max_epochs: int, patience: int) -> bool:
        """Whether training ends after `epoch`."""
        return epoch >= max_epochs or self.bad >= patience
