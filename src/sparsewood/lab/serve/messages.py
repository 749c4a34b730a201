"""What is asked and answered, as the OpenAPI page describes it."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from sparsewood.lab.serve.answer import TREES

# What a model may be asked for in place of its own temperature.
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
        Field(description="another one than the models' own; lower keeps fewer trees"),
    ] = None
    most: Annotated[
        int, Field(ge=1, le=1000, description="so many trees of each sentence are listed")
    ] = TREES


class Tree(BaseModel):
    """A tree and its probability."""

    heads: Annotated[
        list[int], Field(description="of each word: 0 for the root, j for word j, counted from 1")
    ]
    weight: float


class BinaryTree(BaseModel):
    """A binary tree and its probability."""

    spans: Annotated[
        list[tuple[int, int]],
        Field(description="first and last word of each, counted from 0; single words too"),
    ]
    weight: float


class Side(BaseModel):
    """What is found of one sentence."""

    words: list[str]
    trees: Annotated[
        list[Tree] | list[BinaryTree],
        Field(description="the heaviest first; none of a model that reads without trees"),
    ]
    kept: Annotated[int, Field(description="how many trees there are")]
    unknown: Annotated[list[str], Field(description="words that the model knows nothing of")]
    status: Annotated[
        Literal["solved", "capped", "stalled", "limited"] | None,
        Field(description="whether the gap certifies the trees; null where none are solved for"),
    ]
    gap: Annotated[float | None, Field(description="the duality gap")]
    figure: Annotated[
        dict[str, Any] | None,
        Field(description="the data of a live figure, with the model's own scores"),
    ]
    picture: Annotated[
        str | None, Field(description="SVG of trees without scores that a figure could use")
    ]


class Said(BaseModel):
    """What one run says."""

    name: str
    variant: str
    temperature: float | None
    prediction: Annotated[
        dict[str, float],
        Field(
            description="labels with probabilities, words with cosines, or one number; empty of a "
            "parser"
        ),
    ]
    sides: list[Side]
    attention: Annotated[
        str | None, Field(description="SVG of how two sentences attend to each other")
    ] = None
    notes: Annotated[list[str], Field(description="what is to be warned of")]
    error: Annotated[str | None, Field(description="why this run alone cannot answer")] = None


class Answer(BaseModel):
    """What each run says, in the order of the command line."""

    runs: list[Said]


class Refusal(BaseModel):
    """Why there is no answer."""

    detail: str
