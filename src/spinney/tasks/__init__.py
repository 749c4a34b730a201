"""The tasks: the model of each and what is measured of it."""

from spinney.tasks.attachment import Attachment
from spinney.tasks.build import MODELS, build_model, load_model
from spinney.tasks.classify import SentenceClassifier
from spinney.tasks.metrics import Accuracy, LossMetric, Metric, Output, Ranks, TreeStatistics
from spinney.tasks.model import ModelConfig, TreeModel
from spinney.tasks.nli import PairClassifier
from spinney.tasks.parse import DependencyParser, ParserConfig, build_parser, load_parser
from spinney.tasks.revdict import ReverseDictionary

__all__ = [
    "MODELS",
    "Accuracy",
    "Attachment",
    "DependencyParser",
    "LossMetric",
    "Metric",
    "ModelConfig",
    "Output",
    "PairClassifier",
    "ParserConfig",
    "Ranks",
    "ReverseDictionary",
    "SentenceClassifier",
    "TreeModel",
    "TreeStatistics",
    "build_model",
    "build_parser",
    "load_model",
    "load_parser",
]
