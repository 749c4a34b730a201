"""What a run was made with."""

import json

import torch

from sparsewood.lab.run.distributed import World
from sparsewood.lab.run.environment import environment


def test_environment() -> None:
    found = environment(World(0, 2, torch.device("cpu")))
    assert found["torch"] == torch.__version__
    assert (found["processes"], found["threads"]) == (2, torch.get_num_threads())
    assert found["device"]
    json.dumps(found)
