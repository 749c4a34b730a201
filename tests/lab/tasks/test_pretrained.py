"""Pretrained encoders: pooling, what is learned, every task and row, saving, bad input."""

import json
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from sparsewood.lab.data.batches import Batch
from sparsewood.lab.data.examples import Corpus, Example, Sentence
from sparsewood.lab.data.windows import padded_windows
from sparsewood.lab.tasks import TASKS, ModelConfig, ParserConfig, build_model, load_model
from sparsewood.lab.tasks.pretrained import PretrainedEncoder
from sparsewood.nn.encoder import SentenceEncoder

transformers: Any = pytest.importorskip("transformers", reason="the extra [hf] is not installed")
SENTENCES = [
    "The foxes like elm".split(),
    ["Oak"],
    "red elms \u200b dull oaks 木 , 123 fig teas boxes".split(" "),
]
KINDS = ("bert", "roberta", "modernbert", "bart")
PARSER = {"hidden": 6, "arc": 6, "dropout": 0.0}
ROWS = ("mean", "left-to-right", "flat", "sparsemap")


@pytest.fixture(scope="session")
def folders(
    save_encoder: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Path]:
    """kind -> the folder of such an encoder."""
    root = tmp_path_factory.mktemp("encoders")
    return lambda kind: (
        root / kind if (root / kind).exists() else save_encoder(root / kind, kind=kind)
    )


def encoder_of(folder: Path, **options: Any) -> PretrainedEncoder:
    torch.manual_seed(0)
    options = {"tuned": False, **options}
    return PretrainedEncoder.make(f"hf:{folder}", None, 6, **options).double()


def read(encoder: PretrainedEncoder, sentences: list[list[str]]) -> Tensor:
    """The word vectors (B, n, hidden) of a batch."""
    n = max(map(len, sentences))
    tables = padded_windows([encoder.split(words) for words in sentences], n)
    return encoder(*tables, len(sentences), n)


def alone(folder: Path, encoder: PretrainedEncoder, words: list[str]) -> Tensor:
    """The word vectors (n, hidden) of a sentence, by transformers and a plain loop."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, add_prefix_space=True)
    network = transformers.AutoModel.from_pretrained(folder).double().eval()
    if network.config.is_encoder_decoder:
        network = network.get_encoder()
    known = ["[UNK]" if not word.isprintable() else word for word in words]
    if tokenizer.backend_tokenizer.token_to_id("Ġ") is not None:
        known = [f" {word}" for word in words]
    read = tokenizer(known, is_split_into_words=True, return_tensors="pt")
    with torch.no_grad():
        states = network(
            input_ids=read["input_ids"], attention_mask=read["attention_mask"]
        ).last_hidden_state[0]
        owners = read.word_ids()
        vectors: list[Tensor] = []
        for i in range(len(words)):
            own = [states[k] for k, owner in enumerate(owners) if owner == i]
            vectors.append(encoder.projection(sum(own) / len(own)))
    return torch.stack(vectors)


@pytest.mark.parametrize("kind", KINDS)
def test_a_word_is_the_mean_of_its_subwords_whatever_the_batch(folders, kind: str) -> None:
    encoder = encoder_of(folders(kind))
    vectors = read(encoder, SENTENCES)
    assert vectors.shape == (3, 11, 6)
    for words, found in zip(SENTENCES, vectors, strict=True):
        torch.testing.assert_close(found[: len(words)], alone(folders(kind), encoder, words))
        assert not found[len(words) :].any()


@pytest.mark.parametrize("kind", KINDS)
def test_sentences_of_more_subwords_than_positions_are_read(folders, kind: str) -> None:
    encoder = encoder_of(folders(kind))
    long = SENTENCES[2] * 12
    windows = encoder.split(long)
    assert len(windows) > 2
    states: dict[int, list[Tensor]] = {}
    for subwords, owners in windows:
        ids = torch.tensor([subwords])
        (found,) = encoder.network(input_ids=ids).last_hidden_state
        for owner, state in zip(owners, found, strict=True):
            states.setdefault(owner, []).append(state)
    means = torch.stack([torch.stack(states[i]).mean(0) for i in range(len(long))])
    vectors = read(encoder, [long, SENTENCES[0]])
    torch.testing.assert_close(vectors[0], encoder.projection(means))
    torch.testing.assert_close(vectors[1, :4], read(encoder, SENTENCES[:1])[0])


def test_a_frozen_encoder_stays_as_it_is(save_encoder, tmp_path: Path) -> None:
    folder = save_encoder(tmp_path, hidden_dropout_prob=0.5)
    encoder = encoder_of(folder).train()
    first, second = read(encoder, SENTENCES), read(encoder, SENTENCES)
    assert torch.equal(first, second)
    first.sum().backward()
    assert encoder.projection.weight.grad is not None
    assert all(p.grad is None and not p.requires_grad for p in encoder.network.parameters())
    assert not any(module.training for module in encoder.network.modules())


def test_a_tuned_encoder_learns_and_drops_out_while_training(save_encoder, tmp_path: Path) -> None:
    folder = save_encoder(tmp_path, hidden_dropout_prob=0.5)
    encoder = encoder_of(folder, tuned=True)
    assert not torch.equal(read(encoder, SENTENCES), read(encoder, SENTENCES))
    encoder.eval()
    assert torch.equal(read(encoder, SENTENCES), read(encoder, SENTENCES))
    read(encoder, SENTENCES).square().sum().backward()
    for name, parameter in encoder.network.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name


def test_half_precision_on_disk_is_float32_here(save_encoder, tmp_path: Path) -> None:
    folder = save_encoder(tmp_path)
    transformers.AutoModel.from_pretrained(folder).bfloat16().save_pretrained(folder)
    encoder = PretrainedEncoder.make(f"hf:{folder}", None, 4, tuned=True)
    assert {p.dtype for p in encoder.parameters()} == {torch.float32}
    assert {p.dtype for p in encoder.shape.network().parameters()} == {torch.float32}


def test_the_precision_depends_on_the_device(encoder_folder: Path, monkeypatch) -> None:
    cpu, gpu = torch.device("cpu"), torch.device("cuda")
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda: True)
    auto = PretrainedEncoder.make(f"hf:{encoder_folder}", None, 6, tuned=False)
    assert (auto.dtype_on(cpu), auto.dtype_on(gpu)) == (torch.float32, torch.bfloat16)
    with torch.autocast("cpu", torch.bfloat16):
        assert auto.dtype_on(cpu) == torch.bfloat16
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda: False)
    assert auto.dtype_on(gpu) == torch.float32
    for name in ("float32", "bfloat16"):
        own = PretrainedEncoder.make(f"hf:{encoder_folder}", None, 6, tuned=False, precision=name)
        with torch.autocast("cpu", torch.bfloat16):
            assert own.dtype_on(cpu) == own.dtype_on(gpu) == getattr(torch, name)


@pytest.mark.parametrize("tuned", [False, True])
def test_bfloat16_is_for_the_network_alone(encoder_folder: Path, tuned: bool) -> None:
    torch.manual_seed(0)
    options = {"tuned": tuned, "precision": "bfloat16"}
    encoder = PretrainedEncoder.make(f"hf:{encoder_folder}", None, 6, **options).eval()
    products: list[torch.dtype] = []
    for module in encoder.network.modules():
        if isinstance(module, nn.Linear):
            module.register_forward_hook(lambda *told: products.append(told[2].dtype))
    found = read(encoder, SENTENCES)
    assert set(products) == {torch.bfloat16}
    assert found.dtype == torch.float32
    assert {p.dtype for p in encoder.parameters()} == {torch.float32}
    encoder.precision = "float32"
    whole = read(encoder, SENTENCES)
    assert not torch.equal(found, whole)
    torch.testing.assert_close(found, whole, atol=0.05 * float(whole.detach().abs().max()), rtol=0)
    if tuned:
        encoder.precision = "bfloat16"
        read(encoder, SENTENCES).square().sum().backward()
        assert {p.grad.dtype for p in encoder.parameters() if p.grad is not None} == {torch.float32}


@pytest.mark.parametrize("tuned", [False, True])
@pytest.mark.parametrize("row", ROWS)
def test_every_row_learns_without_embeddings(
    make, check_learns, encoder_folder: Path, task: str, row: str, tuned: bool
) -> None:
    model, batch = make(task, estimator=row, encoder=f"hf:{encoder_folder}", tune_encoder=tuned)
    embeddings = [m for m in model.modules() if isinstance(m, SentenceEncoder)]
    assert not embeddings
    assert len(model.vocabulary) == 1
    assert bool(model.encoder_parameters()) == tuned
    before = {name: p.clone() for name, p in model.encoder.network.named_parameters()}
    check_learns(model, batch)
    after = dict(model.encoder.network.named_parameters())
    same = {name for name, p in before.items() if torch.equal(p, after[name])}
    # Attention does not change with the bias of all keys.
    assert same == ({name for name in before if name.endswith("key.bias")} if tuned else {*before})


@pytest.mark.parametrize("row", ["bow", "lstm", "chart", "top-k:k=3"])
def test_other_readers_read_it_too(make, check_learns, encoder_folder: Path, row: str) -> None:
    model, batch = make("classify", estimator=row, encoder=f"hf:{encoder_folder}")
    assert isinstance(model.encoder, PretrainedEncoder)
    check_learns(model, batch)


def test_padding_changes_nothing(make, corpus, encoder_folder: Path, task: str) -> None:
    model, batch = make(task, encoder=f"hf:{encoder_folder}")
    loss = model(batch).loss
    split = model.encode(corpus(task).splits["train"])
    for b in range(8):
        torch.testing.assert_close(model(split.batch([b])).loss[0], loss[b])


def test_the_scorer_alone_reads_it(make, encoder_folder: Path, task: str) -> None:
    options = {"encoder": f"hf:{encoder_folder}", "composer_input": "words"}
    model, batch = make(task, tune_encoder=True, tune_vectors=True, **options)
    assert isinstance(model.second, SentenceEncoder)
    assert len(model.vocabulary) > 1
    apart = set(map(id, model.parser_parameters()))
    found = {name for name, p in model.named_parameters() if id(p) in apart}
    starts = ("encoder.", "trees.scorer.")
    assert found == {n for n, _ in model.named_parameters() if n.startswith(starts)}
    # Trees that are fixed need no context: what the composer reads is all there is.
    fixed, _ = make(task, estimator="flat", **options)
    assert not any(isinstance(m, PretrainedEncoder) for m in fixed.modules())
    model(batch).loss.sum().backward()
    for name, parameter in model.named_parameters():
        assert not parameter.requires_grad or parameter.grad is not None, name


def test_a_composer_of_words_sees_no_context(make, encoder_folder: Path) -> None:
    model, batch = make("classify", encoder=f"hf:{encoder_folder}", composer_input="words")
    (side,) = batch.sides
    before = model.context(side), model._words(side, model.trees.estimator)
    side.subwords[side.subwords > 4] = 5
    after = model.context(side), model._words(side, model.trees.estimator)
    assert not torch.equal(before[0], after[0])
    assert torch.equal(before[1], after[1])


def test_words_may_be_told_to_be_leaves(make, encoder_folder: Path) -> None:
    leaves = ("oak", "elm", "ash")
    model, batch = make("classify", encoder=f"hf:{encoder_folder}", leaves=leaves)
    assert set(model.vocabulary.words) == {"<unk>", *leaves}
    (posterior,) = model(batch).posteriors
    for heads, b in zip(posterior.structures, posterior.instance, strict=True):
        above = {int(batch.sides[0].tokens[b, head - 1]) for head in heads if head > 0}
        assert above <= {0}


@pytest.mark.parametrize("how", ["load_model", "from_pretrained"])
@pytest.mark.parametrize(
    "options", [{"tune_encoder": True}, {"composer_input": "words"}, {"estimator": "mean"}]
)
def test_a_saved_model_needs_nothing_else(
    make, save_encoder, task: str, how: str, options: dict[str, Any], tmp_path: Path
) -> None:
    folder = save_encoder(tmp_path / "encoder")
    model, batch = make(task, encoder=f"hf:{folder}", **options)
    model = model.float().eval()
    model.save_pretrained(tmp_path / "model")
    shutil.rmtree(folder)
    read = load_model if how == "load_model" else TASKS[task].model.from_pretrained
    loaded: Any = read(tmp_path / "model")
    ours, theirs = model(batch), loaded(batch)
    assert torch.equal(ours.prediction, theirs.prediction)
    assert torch.equal(ours.loss, theirs.loss)
    assert str(tmp_path) not in json.dumps(loaded.config()["pretrained"])
    words = [Sentence(("oak", "elms"))]
    again = loaded.encode([Example(tuple(words * len(batch.sides)))]).batch([0])
    mine = model.encode([Example(tuple(words * len(batch.sides)))]).batch([0])
    assert torch.equal(again.sides[0].subwords, mine.sides[0].subwords)


def test_nothing_is_unknown_but_what_has_no_subword(make, encoder_folder: Path) -> None:
    model, _ = make("classify", encoder=f"hf:{encoder_folder}")
    model.eval()
    assert model.unknown(["oak", "foxes", "木", "oak"]) == ["木"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.posterior([Sentence(("foxes", "木"))])
    with pytest.warns(UserWarning, match="no word of the sentence '木' is in the vocabulary"):
        model.posterior([Sentence(("木",))])
    words, _ = make("classify", encoder=f"hf:{encoder_folder}", composer_input="words")
    assert words.unknown(["oak", "foxes", "木"]) == ["木"]


def parser_of(folder: Path, **options: Any) -> tuple[Any, Any]:
    heads = {"the red fox likes figs": (3, 3, 4, 0, 4), "oak likes tea": (2, 0, 2), "elm": (0,)}
    examples = [Example((Sentence(tuple(w.split()), h),)) for w, h in heads.items()]
    torch.manual_seed(0)
    config = ParserConfig(encoder=f"hf:{folder}", **{**PARSER, **options})
    model = build_model(Corpus("parse", {"train": examples}), config)
    return model, model.encode(examples).batch(range(3))


@pytest.mark.parametrize("tuned", [False, True])
def test_a_parser_learns(encoder_folder: Path, tuned: bool) -> None:
    model, batch = parser_of(encoder_folder, tune_encoder=tuned)
    assert not any(isinstance(m, nn.LSTM) for m in model.modules())
    assert bool(model.encoder_parameters()) == tuned
    learned = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.Adam(learned, 0.01)
    for _ in range(60):
        optimizer.zero_grad()
        model(batch).loss.sum().backward()
        optimizer.step()
    model.eval()
    sentences = ["the red fox likes figs".split(), "oak likes tea".split(), ["elm"]]
    assert model.parse(sentences) == [(3, 3, 4, 0, 4), (2, 0, 2), (0,)]
    assert model.unknown(["foxes", "木"]) == ["木"]


@pytest.mark.parametrize("name", ["embedding", "characters", "filters", "layers"])
def test_a_parser_is_told_nothing_that_its_encoder_has_not(name: str) -> None:
    told: Any = {name: 7}
    with pytest.raises(ValueError, match=rf"{name}: expected \d+: hf:oak has no {name}, got 7"):
        ParserConfig(encoder="hf:oak", **told)
    assert getattr(ParserConfig(**told), name) == 7


def test_a_saved_parser_needs_nothing_else(save_encoder, tmp_path: Path) -> None:
    model, batch = parser_of(save_encoder(tmp_path / "encoder"))
    model.eval().save_pretrained(tmp_path / "model")
    shutil.rmtree(tmp_path / "encoder")
    for loaded in (load_model(tmp_path / "model"), type(model).from_pretrained(tmp_path / "model")):
        assert torch.equal(loaded(batch).prediction, model(batch).prediction)


@pytest.mark.parametrize("kind", [ModelConfig, ParserConfig])
def test_bad_options(kind: Any) -> None:
    for wrong in ("glove", "hf:", "hf", "bilstm:2"):
        with pytest.raises(ValueError, match=r"model\.encoder: expected 'bilstm', or 'hf:'"):
            kind(encoder=wrong)
    with pytest.raises(ValueError, match=r"model\.tune_encoder: expected False unless"):
        kind(tune_encoder=True)


def test_vectors_that_nothing_would_read_are_refused(corpus, vectors, encoder_folder: Path) -> None:
    told: Any = {"encoder": f"hf:{encoder_folder}"}
    for task, options in (("classify", ModelConfig(**told)), ("parse", ParserConfig(**told))):
        with pytest.raises(ValueError, match="vectors: the encoder hf:.* replaces them"):
            build_model(corpus(task), options, vectors)


def refused(folder: Path) -> str:
    """The one line that is said of a folder that holds no encoder."""
    with pytest.raises(ValueError, match="model.encoder: ") as found:
        PretrainedEncoder.make(f"hf:{folder}", None, 4, tuned=False)
    text = str(found.value)
    assert "\n" not in text
    return text


def test_what_is_no_encoder_is_told_in_a_line(save_encoder, tmp_path: Path) -> None:
    assert "no such folder of a pretrained encoder" in refused(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    assert "cannot be read (" in refused(tmp_path / "empty")
    damaged = save_encoder(tmp_path / "damaged")
    (damaged / "model.safetensors").write_bytes(b"oak")
    assert "cannot be read (" in refused(damaged)
    small = save_encoder(tmp_path / "small", vocab_size=20)
    assert "sub-words, the encoder 20" in refused(small)
    slow = save_encoder(tmp_path / "slow")
    (slow / "tokenizer.json").unlink()
    (slow / "tokenizer_config.json").unlink()
    transformers.ByT5Tokenizer().save_pretrained(slow)
    assert "ByT5Tokenizer is not a fast tokenizer" in refused(slow)


def test_a_batch_of_another_model_is_refused(make, encoder_folder: Path) -> None:
    model, _ = make("classify", encoder=f"hf:{encoder_folder}")
    _, other = make("classify")
    assert isinstance(other, Batch)
    with pytest.raises(AssertionError, match="made for another model"):
        model(other)


def test_subwords_move_with_the_batch(make, encoder_folder: Path) -> None:
    _, batch = make("nli", encoder=f"hf:{encoder_folder}")
    for side in batch.to("meta").sides:
        assert side.subwords.device.type == side.owners.device.type == "meta"
