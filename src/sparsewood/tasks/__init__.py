"""The tasks: the model of each and what is measured of it."""

from sparsewood.tasks.attachment import Attachment
from sparsewood.tasks.build import MODELS, build_model, load_model
from sparsewood.tasks.certificate import Certificates
from sparsewood.tasks.classify import SentenceClassifier
from sparsewood.tasks.metrics import Accuracy, LossMetric, Metric, Output, Ranks, TreeStatistics
from sparsewood.tasks.model import ModelConfig, TreeModel
from sparsewood.tasks.nli import PairClassifier
from sparsewood.tasks.parse import DependencyParser, ParserConfig, build_parser, load_parser
from sparsewood.tasks.revdict import ReverseDictionary

__all__ = [
    "MODELS",
    "Accuracy",
    "Attachment",
    "Certificates",
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
