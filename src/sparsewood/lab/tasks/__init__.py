"""The tasks: the model of each and what is measured of it."""

from sparsewood.lab.tasks.attachment import Attachment
from sparsewood.lab.tasks.build import MEASURES, TASKS, build_model, load_model, load_parser
from sparsewood.lab.tasks.certificate import Certificates
from sparsewood.lab.tasks.classify import SentenceModel
from sparsewood.lab.tasks.measures import Measure, MetricSpec
from sparsewood.lab.tasks.metrics import Accuracy, LossMetric, Metric, Output, Ranks, TreeStatistics
from sparsewood.lab.tasks.model import TreeModel
from sparsewood.lab.tasks.model_config import ModelConfig
from sparsewood.lab.tasks.nli import PairModel
from sparsewood.lab.tasks.pair_config import PairConfig
from sparsewood.lab.tasks.parse import DependencyParser, ParserConfig
from sparsewood.lab.tasks.parsing import load_corpus
from sparsewood.lab.tasks.revdict import DictionaryConfig, ReverseDictionary
from sparsewood.lab.tasks.targets import Classes, LabelCounts, Labels, NumberErrors, Numbers, Target
from sparsewood.lab.tasks.task import Model, Task

__all__ = [
    "MEASURES",
    "TASKS",
    "Accuracy",
    "Attachment",
    "Certificates",
    "Classes",
    "DependencyParser",
    "DictionaryConfig",
    "LabelCounts",
    "Labels",
    "LossMetric",
    "Measure",
    "Metric",
    "MetricSpec",
    "Model",
    "ModelConfig",
    "NumberErrors",
    "Numbers",
    "Output",
    "PairConfig",
    "PairModel",
    "ParserConfig",
    "Ranks",
    "ReverseDictionary",
    "SentenceModel",
    "Target",
    "Task",
    "TreeModel",
    "TreeStatistics",
    "build_model",
    "load_corpus",
    "load_model",
    "load_parser",
]
