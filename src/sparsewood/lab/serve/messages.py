"""Questions and answers, as described by OpenAPI."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from sparsewood.lab.serve.answer import TREES

# The allowed temperatures.
Temperature = Annotated[float, Field(ge=1e-6, le=1e6, allow_inf_nan=False)]


class Question(BaseModel):
    """A sentence, a definition, or a premise and a hypothesis."""

    model_config = ConfigDict(extra="forbid")

    sides: Annotated[
        list[str],
        Field(min_length=1, max_length=2, description="one sentence, or the two of pairs"),
    ]
    temperature: Annotated[
        Temperature | None,
        Field(description="overrides the models' temperature; a lower one keeps fewer trees"),
    ] = None
    most: Annotated[
        int, Field(ge=1, le=1000, description="maximum number of trees to list per sentence")
    ] = TREES


class Tree(BaseModel):
    """A tree and its probability."""

    heads: Annotated[
        list[int],
        Field(description="head of each word: 0 for the root, j for word j, from 1"),
    ]
    weight: float


class BinaryTree(BaseModel):
    """A binary tree and its probability."""

    spans: Annotated[
        list[tuple[int, int]],
        Field(description="first and last word of each span, from 0; includes single words"),
    ]
    weight: float


class Side(BaseModel):
    """The result for one sentence."""

    words: list[str]
    trees: Annotated[
        list[Tree] | list[BinaryTree],
        Field(description="the most probable first; empty for a model without trees"),
    ]
    kept: Annotated[int, Field(description="number of trees")]
    unknown: Annotated[list[str], Field(description="unknown words")]
    status: Annotated[
        Literal["solved", "capped", "stalled", "limited"] | None,
        Field(description="status of the solve; null if no trees are solved for"),
    ]
    gap: Annotated[float | None, Field(description="the duality gap")]
    figure: Annotated[
        dict[str, Any] | None,
        Field(description="data of a live figure, with the scores of the model"),
    ]
    picture: Annotated[str | None, Field(description="SVG of the trees if there is no live figure")]


class Said(BaseModel):
    """The answer of one run."""

    name: str
    variant: str
    temperature: float | None
    prediction: Annotated[
        dict[str, float],
        Field(
            description="labels with probabilities, words with cosines, or one number; empty for a "
            "parser"
        ),
    ]
    sides: list[Side]
    attention: Annotated[
        str | None, Field(description="SVG of the attention between two sentences")
    ] = None
    notes: Annotated[list[str], Field(description="warnings")]
    error: Annotated[str | None, Field(description="why this run cannot answer")] = None


class Answer(BaseModel):
    """The answers of all runs, in the order of the command line."""

    runs: list[Said]


class Refusal(BaseModel):
    """The reason of a refusal."""

    detail: str
