"""sparsewood.wasm in Python, without a browser: the equivalent of sparsewood.js."""

from dataclasses import dataclass
from math import prod
from pathlib import Path

import numpy as np
import torch
import wasmtime
from torch import Tensor

import sparsewood as sp
from sparsewood.structures.base import NativeStructure

WEB = Path(sp.__file__).parent / "draw/web"


@dataclass(frozen=True)
class Answer:
    """Structures (K, *event), their parts, and the rest of the result."""

    structures: Tensor
    parts: list[list[int]]
    rest: list[Tensor]  # further lists of `kbest` or `sparsemap`
    end: list[float]  # single numbers


class Core:
    """A module, and an instance of it until a call fails."""

    def __init__(self) -> None:
        self._engine = wasmtime.Engine()
        self._module = wasmtime.Module(self._engine, (WEB / "sparsewood.wasm").read_bytes())
        self._begin()

    @property
    def imports(self) -> list[str]:
        return [f"{one.module}.{one.name}" for one in self._module.imports]

    def kbest(self, scores: Tensor, structure: NativeStructure, k: int) -> Answer:
        """The k best structures of one instance (*parts)."""
        return self._ask(scores, structure, "kbest", float(k), lists=1)

    def sparsemap(
        self,
        scores: Tensor,
        structure: NativeStructure,
        temperature: float = 1.0,
        tol: float = 1e-9,
        max_active: int | None = None,
        max_iter: int | None = None,
        max_support: int | None = None,
        canonical: bool = False,
    ) -> Answer:
        """SparseMAP of one instance (*parts)."""
        caps = [float(cap or 0) for cap in (max_active, max_iter, max_support)]
        return self._ask(
            scores, structure, "sparsemap", temperature, tol, *caps, int(canonical), lists=2
        )

    def _begin(self) -> None:
        self._store = wasmtime.Store(self._engine)
        kinds = [wasmtime.ValType.i32(), wasmtime.ValType.i32()]
        fail = wasmtime.Func(self._store, wasmtime.FuncType(kinds, []), self._fail)
        self._exports = wasmtime.Instance(self._store, self._module, [fail]).exports(self._store)
        self._call("_initialize")

    def _fail(self, at: int, length: int) -> None:
        raise ValueError(self._memory.read(self._store, at, at + length).decode())

    @property
    def _memory(self) -> wasmtime.Memory:
        memory = self._exports["memory"]
        assert isinstance(memory, wasmtime.Memory)
        return memory

    def _call(self, name: str, *arguments: float) -> int:
        function = self._exports[name]
        assert isinstance(function, wasmtime.Func)
        return function(self._store, *arguments)

    def _ask(
        self, scores: Tensor, structure: NativeStructure, name: str, *arguments: float, lists: int
    ) -> Answer:
        family, options, table, _, full = structure.native_batch(scores[None], None)
        before = [*map(ord, family)], options, tuple(scores.shape), full
        numbers = [number for one in before for number in (len(one), *one)]
        given = np.concatenate([np.array(numbers, np.float64), table.numpy().ravel()])
        try:
            at = self._call("room", len(given)) & 0xFFFFFFFF
            self._memory.write(self._store, given.tobytes(), at)
            self._call(name, *arguments)
        except ValueError:
            self._begin()
            raise
        at, count = self._call("answer"), self._call("answer_size")
        answer = np.frombuffer(self._memory.read(self._store, at, at + 8 * count)).copy()
        return _read(answer, structure.event_shape(tuple(scores.shape)), lists)


def _read(answer: np.ndarray, event: tuple[int, ...], lists: int) -> Answer:
    found = []
    for _ in range(3 + lists):
        count = int(answer[0])
        found.append(torch.from_numpy(answer[1 : 1 + count]))
        answer = answer[1 + count :]
    counts, parts, events, *rest = found
    assert len(events) == len(counts) * prod(event)
    split = parts.long().split(counts.long().tolist())
    structures = events.long().reshape(len(counts), *event)
    return Answer(structures, [one.tolist() for one in split], rest, answer.tolist())
