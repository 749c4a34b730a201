"""`sparsewood serve`: a local page on which models answer."""

import errno
import socket
import sys
import threading
import webbrowser
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

import tyro
from rich.console import Console
from rich.markup import escape

from sparsewood.lab._extras import require
from sparsewood.lab.cli._options import Group, parse_options


@dataclass(frozen=True)
class ServeOptions:
    """Who answers, and where.

    Attributes:
        runs: folders of runs or models, all of the same task, which answer side by side.
        host: the address that is listened at; the default is heard on this machine alone.
        port: 0 takes a free one.
        open: open the page in a browser.
    """

    runs: tyro.conf.Positional[tuple[Path, ...]]
    host: str = "127.0.0.1"
    port: int = 8000
    open: bool = False


def main(args: list[str]) -> None:
    """Answers until it is interrupted."""
    (options,) = parse_options(
        "sparsewood serve",
        args,
        [Group("server", ServeOptions)],
        "A page on this machine: type a sentence, see prediction, trees and a live figure.",
        "sparsewood serve runs/sst-flat-1 runs/sst-sparsemap-1",
    )
    for module in ("fastapi", "uvicorn"):
        require(module, extra="serve")
    with _listening(options.host, options.port) as place:
        _serve(options, place)


def _serve(options: ServeOptions, place: socket.socket) -> None:
    # Here, for they need the extra.
    import uvicorn

    from sparsewood.lab.serve.app import create_app, server_config
    from sparsewood.lab.serve.load import example_questions, load_runs

    runs = load_runs(options.runs)
    names = () if is_loopback(options.host) else (options.host, socket.gethostname())
    app = create_app(runs, examples=example_questions(options.runs), hosts=names)
    told = ", ".join(run.name for run in runs)

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            announce(told, options, place.getsockname()[1])

    with suppress(KeyboardInterrupt):  # how a server is meant to end
        Server(server_config(app)).run(sockets=[place])
    print("stopped")


def announce(runs: str, options: ServeOptions, port: int) -> None:
    """Tell where the page is, now that it is there."""
    address = address_of(options.host, port)
    console = Console(highlight=False, soft_wrap=True)
    console.print(f"{escape(runs)} at [bold]{address}[/] (Ctrl-C ends)")
    if not is_loopback(options.host):
        print(
            f"sparsewood: warning: --host {options.host}: whoever reaches this machine may ask, "
            "without a password and unencrypted",
            file=sys.stderr,
        )
    if options.open:
        threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()


def _listening(host: str, port: int) -> socket.socket:
    """A socket that is bound, before models are loaded: a mistake is then noticed at once."""
    if not 0 <= port <= 65535:
        raise ValueError(f"--port: expected a number from 0 to 65535, got {port}")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (OSError, UnicodeError) as error:
        raise ValueError(f"--host {host}: no such address ({error})") from None
    place = socket.socket(family, kind, protocol)
    if sys.platform != "win32":  # where it would let two servers have the same port
        place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        place.bind(address)
    except OSError as error:
        place.close()
        taken = error.errno == errno.EADDRINUSE
        why = "in use; --port 0 takes a free one" if taken else (error.strerror or str(error))
        raise ValueError(f"--host {host} --port {port}: {why}") from None
    return place


def is_loopback(host: str) -> bool:
    """Whether `host` is heard on this machine alone."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def address_of(host: str, port: int) -> str:
    """What a browser on this machine is told."""
    name = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://[{name}]:{port}" if ":" in name else f"http://{name}:{port}"
