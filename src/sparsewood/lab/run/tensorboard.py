"""Events for TensorBoard."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self

from sparsewood.lab._extras import require


class Board:
    """Writes the numbers of each epoch to `folder/tensorboard`, if enabled.

    A resumed run writes its epochs again, so that lost events do not matter.
    """

    def __init__(self, folder: Path, enabled: bool) -> None:
        self._writer: Any = None
        if enabled:
            require("tensorboard", extra="tensorboard")
            from torch.utils.tensorboard import SummaryWriter

            self._writer = SummaryWriter(str(folder / "tensorboard"))

    def replay(self, history: Iterable[dict[str, Any]]) -> None:
        """Write the epochs of a resumed run."""
        for record in history:
            self.add(record)

    def add(self, record: dict[str, Any]) -> None:
        """Write one epoch."""
        if self._writer is None:
            return
        for part in ("train", "validation"):
            for name, value in record[part].items():
                if not isinstance(value, dict):
                    self._writer.add_scalar(f"{name}/{part}", value, record["epoch"])
        for name in ("lr", "sentences_per_second"):
            self._writer.add_scalar(name, record[name], record["epoch"])
        self._writer.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._writer is not None:
            self._writer.close()
