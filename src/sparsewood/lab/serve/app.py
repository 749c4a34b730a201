"""The routes of the server: a page with its assets, and one JSON endpoint."""

from collections.abc import Iterable, Sequence
from typing import Any

import uvicorn
from anyio import CapacityLimiter, to_thread
from fastapi import FastAPI, HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.types import ASGIApp

from sparsewood import __version__
from sparsewood.lab.data.examples import Sentence
from sparsewood.lab.serve.answer import Served, answer
from sparsewood.lab.serve.connections import protocol
from sparsewood.lab.serve.guard import Guard
from sparsewood.lab.serve.limits import RequestLimits
from sparsewood.lab.serve.messages import Answer, Question, Refusal
from sparsewood.lab.serve.page import assets
from sparsewood.lab.tasks import TASKS

_REFUSALS: dict[int | str, dict[str, Any]] = {
    400: {"model": Refusal, "description": "not JSON, or a foreign Host"},
    413: {"model": Refusal, "description": "too large"},
    422: {"model": Refusal, "description": "a question that cannot be answered"},
    429: {"model": Refusal, "description": "too many questions; wait as long as Retry-After"},
    503: {"model": Refusal, "description": "too many questions are waiting"},
}


def create_app(
    runs: Sequence[Served],
    *,
    examples: Sequence[Sequence[str]] = (),
    limits: RequestLimits | None = None,
    hosts: Iterable[str] = (),
) -> ASGIApp:
    """The server of runs of one task.

    After this returns, nothing is read from disk.

    Args:
        runs: at least one.
        examples: example questions of the page, each a sequence of sentences.
        limits: limits of requests.
        hosts: host names of the server, besides localhost.
    """
    limits = limits or RequestLimits()
    app = FastAPI(
        title="sparsewood serve",
        version=__version__,
        description=f"What {', '.join(run.name for run in runs)} predict for a sentence.",
        docs_url=None,  # Swagger UI would load its scripts from a CDN, which the policy forbids
        redoc_url=None,
    )
    app.add_exception_handler(RequestValidationError, _misunderstood)
    app.add_exception_handler(Exception, _failed)
    desk = _Desk(runs, limits)

    @app.post("/answer", response_model=Answer, responses=_REFUSALS)
    async def ask(question: Question) -> dict[str, Any]:
        """Prediction, trees and figure data of each run."""
        return await desk.ask(question)

    for path, (kind, content) in assets(runs, examples, limits).items():
        _offer(app, path, kind, content)
    return Guard(app, limits, hosts)  # outermost, so that every response has its headers


def server_config(app: ASGIApp, limits: RequestLimits | None = None) -> uvicorn.Config:
    """The configuration of uvicorn: no log, and a limit of time for slow clients.

    Args:
        app: returned by `create_app`.
        limits: limits of requests, as for the app.
    """
    return uvicorn.Config(
        app,
        http=protocol(limits or RequestLimits()),
        log_level="warning",
        access_log=False,
        server_header=False,
        ws="none",
        lifespan="off",
        timeout_graceful_shutdown=3,
    )


class _Desk:
    """Answers questions one at a time: models are not thread-safe."""

    def __init__(self, runs: Sequence[Served], limits: RequestLimits) -> None:
        self._runs, self._limits = runs, limits
        self._sides = len(TASKS[runs[0].model.task].sides)
        self._one = CapacityLimiter(1)
        self._waiting = 0

    async def ask(self, question: Question) -> dict[str, Any]:
        sentences = self._read(question)
        if self._waiting >= self._limits.waiting:
            raise HTTPException(503, "too many questions are waiting", {"Retry-After": "1"})
        self._waiting += 1
        try:
            return await to_thread.run_sync(self._answer, question, sentences, limiter=self._one)
        except ValueError as error:
            raise HTTPException(422, " ".join(str(error).split())) from error
        finally:
            self._waiting -= 1

    def _read(self, question: Question) -> list[Sentence]:
        """The sentences of a question; raises HTTPException if it is too large or invalid."""
        texts = question.sides
        if len(texts) != self._sides:
            raise HTTPException(422, f"sides: expected {self._sides}, got {len(texts)}")
        sentences = [self._sentence(text, f"sides[{i}]") for i, text in enumerate(texts)]
        if question.temperature is not None and not any(r.model.temperature for r in self._runs):
            variants = ", ".join(run.variant for run in self._runs)
            raise HTTPException(422, f"temperature: models with {variants} have no temperature")
        return sentences

    def _sentence(self, text: str, name: str) -> Sentence:
        if not _is_unicode(text):
            raise HTTPException(422, f"{name}: expected Unicode text, got an unpaired surrogate")
        limits = self._limits
        most = f"{name}: expected at most {limits.words} words and {limits.characters:,} characters"
        if len(text) > limits.characters:
            got = f"{len(text.split()):,} words and {len(text):,} characters"
            raise HTTPException(422, f"{most}, got {got}")
        if not text.strip():
            raise HTTPException(422, f"{name}: expected a sentence, got white space")
        try:
            sentence = self._runs[0].model.sentence_of(text)
        except ValueError as error:
            raise HTTPException(422, f"{name}: {error}") from error
        if (count := len(sentence.words)) > limits.words:
            got = f"{count:,} words and {len(text):,} characters"
            raise HTTPException(422, f"{most}, got {got}")
        return sentence

    def _answer(self, question: Question, sentences: Sequence[Sentence]) -> dict[str, Any]:
        said = [self._said(run, question, sentences) for run in self._runs]
        failed = [one["error"] for one in said if one.get("error")]
        if len(failed) == len(said):
            raise ValueError("; ".join(failed))
        return {"runs": said}

    @staticmethod
    def _said(run: Served, question: Question, sentences: Sequence[Sentence]) -> dict[str, Any]:
        """The answer of a run, or the reason why this run cannot answer."""
        try:
            return answer(run, sentences, temperature=question.temperature, most=question.most)
        except ValueError as error:
            nothing = {"prediction": {}, "sides": [], "notes": [], "temperature": None}
            why = " ".join(str(error).split())
            return {"name": run.name, "variant": run.variant, **nothing, "error": why}


def _is_unicode(text: str) -> bool:
    """Whether a text has no unpaired surrogates, which JSON allows."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _offer(app: FastAPI, path: str, kind: str, content: bytes) -> None:
    async def asset() -> Response:
        return Response(content, media_type=kind)

    app.add_api_route(path, asset, methods=["GET", "HEAD"], include_in_schema=False)


async def _misunderstood(_: Request, error: Exception) -> JSONResponse:
    """The response to an invalid question: the reason on one line, without the input."""
    assert isinstance(error, RequestValidationError)
    wrong = []
    for found in error.errors():
        where = "" if found["type"] == "json_invalid" else ".".join(map(str, found["loc"][1:]))
        wrong.append(f"{where or 'body'}: {found['msg']}")
    return JSONResponse({"detail": "; ".join(wrong[:3])}, 422)


async def _failed(_: Request, __: Exception) -> JSONResponse:
    return JSONResponse({"detail": "internal error; see the terminal of the server"}, 500)
