"""The weights of a model as a file of safetensors."""

from pathlib import Path

from huggingface_hub.constants import SAFETENSORS_SINGLE_FILE
from safetensors.torch import save
from torch import nn


def save_weights(model: nn.Module, folder: Path) -> None:
    """Write every parameter and buffer to `folder`, under the name that the hub's mixin loads.

    On a GPU the weights of an LSTM share one storage, which safetensors refuses: each is copied.
    """
    weights = {name: tensor.detach().cpu().clone() for name, tensor in model.state_dict().items()}
    # Written by Python, whose errors name the file and the reason: a full disk, say.
    (folder / SAFETENSORS_SINGLE_FILE).write_bytes(save(weights, metadata={"format": "pt"}))
