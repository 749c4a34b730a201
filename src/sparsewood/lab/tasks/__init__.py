"""The tasks: the model of each and what is measured of it."""

from sparsewood.lab.tasks.attachment import Attachment
from sparsewood.lab.tasks.build import MODELS, build_model, load_model
from sparsewood.lab.tasks.certificate import Certificates
from sparsewood.lab.tasks.classify import SentenceClassifier
from sparsewood.lab.tasks.metrics import Accuracy, LossMetric, Metric, Output, Ranks, TreeStatistics
from sparsewood.lab.tasks.model import ModelConfig, TreeModel
from sparsewood.lab.tasks.nli import PairClassifier
from sparsewood.lab.tasks.parse import DependencyParser, ParserConfig, build_parser, load_parser
from sparsewood.lab.tasks.revdict import ReverseDictionary

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
