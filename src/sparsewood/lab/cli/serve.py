"""`sparsewood serve`: a local page that shows the answers of models."""

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
    """Which models to serve, and where.

    Attributes:
        runs: folders of runs or models of one task, shown side by side.
        host: address to listen on; by default only this machine can connect.
        port: port to listen on; 0 picks a free one.
        open: open the page in the browser.
    """

    runs: tyro.conf.Positional[tuple[Path, ...]]
    host: str = "127.0.0.1"
    port: int = 8000
    open: bool = False


def main(args: list[str]) -> None:
    """Serve until interrupted."""
    (options,) = parse_options(
        "sparsewood serve",
        args,
        [Group("server", ServeOptions)],
        "Open a local page that shows prediction and trees for typed sentences.",
        "sparsewood serve runs/sst-flat-1 runs/sst-sparsemap-1",
    )
    for module in ("fastapi", "uvicorn"):
        require(module, extra="serve")
    with _listening(options.host, options.port) as place:
        _serve(options, place)


def _serve(options: ServeOptions, place: socket.socket) -> None:
    # Imported here because they need the extra [serve].
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

    with suppress(KeyboardInterrupt):  # the normal end of a server
        Server(server_config(app)).run(sockets=[place])
    print("stopped")


def announce(runs: str, options: ServeOptions, port: int) -> None:
    """Print the address of the page."""
    address = address_of(options.host, port)
    console = Console(highlight=False, soft_wrap=True)
    console.print(f"{escape(runs)} at [bold]{address}[/] (Ctrl-C ends)")
    if not is_loopback(options.host):
        print(
            f"sparsewood: warning: --host {options.host}: anyone who can reach "
            "this machine can use the models, without a password and unencrypted",
            file=sys.stderr,
        )
    if options.open:
        threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()


def _listening(host: str, port: int) -> socket.socket:
    """A bound socket, made before models are loaded so that errors are raised at once."""
    if not 0 <= port <= 65535:
        raise ValueError(f"--port: expected a number from 0 to 65535, got {port}")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (OSError, UnicodeError) as error:
        raise ValueError(f"--host {host}: no such address ({error})") from None
    place = socket.socket(family, kind, protocol)
    if sys.platform != "win32":  # there, it would let two servers share a port
        place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        place.bind(address)
    except OSError as error:
        place.close()
        taken = error.errno == errno.EADDRINUSE
        why = "in use; --port 0 picks a free one" if taken else (error.strerror or str(error))
        raise ValueError(f"--host {host} --port {port}: {why}") from None
    return place


def is_loopback(host: str) -> bool:
    """Whether only this machine can connect to `host`."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def address_of(host: str, port: int) -> str:
    """The URL for a browser on this machine."""
    name = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://[{name}]:{port}" if ":" in name else f"http://{name}:{port}"
