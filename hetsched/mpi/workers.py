"""Workers that are separate jobs, on this computer or others, around this process, whose products survive the loss of some."""

from __future__ import annotations

import contextlib
import ipaddress
import math
import secrets
import shlex
import socket
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from collections import deque
from collections.abc import Sequence
from typing import IO, Any

from numpy.typing import ArrayLike

from .._base import check
from .._base.progress import Progress, reporting
from ..machine.topology import topology
from ..planners.star import StarPlan
from ..runners.pool import Pool
from ..runners.shared import shared_pool, unpinned_pool
from . import handshake, sockets
from .chunks import Product
from .loop import Condition, Loop, LostRank, knows
from .ranks import THIS, TIMEOUT
from .star import master_of, operands_of, product_of, trace_of
from .worker import Worker

_START = 60.0  # seconds that workers have to connect
_LOOK = 0.05  # seconds between looks at processes that have not connected
_END = 1.0  # seconds that agents have to end when the connections of their workers have ended
_BREAK = 0.1  # the same where the start has failed or is interrupted
_BACKLOG = 128  # connections that wait to be accepted, beside those of workers
_TAIL = 500  # characters of what a worker has said that an error repeats


class Workers:
    """Workers on this computer or others, each a process of its own that this one starts: the master of their products.

    No MPI is needed. When a worker dies or does not answer, the others do what it has not returned.

    Parameters
    ----------
    hosts : int or sequence of str
        So many workers on this computer, or one on each of these.
    agent : str
        The command that runs another on a host: the host follows it, or takes the place of "{host}", as in
        "srun --nodes=1 --ntasks=1 --overlap --nodelist={host}". It must pass its standard input on.
    python : str, optional
        Of the workers; default: this process's.
    address : str, optional
        By which the hosts reach this computer; default: its name. Given an address that this computer has, only that interface
        listens for them, else all do.
    threads : int, optional
        Of each worker; default: all cores that are worth it, on this computer shared by the workers.

    Attributes
    ----------
    names : tuple of str
    lost : dict of str to str
        Workers that are lost, and why. The others do their part of later products too.

    Raises
    ------
    OSError
        If a worker does not start, or has not connected after a minute; the message has its name, and what it said.

    Notes
    -----
    The workers connect to this process by TCP and get a secret by their standard input, by which both sides prove who they are
    (HMAC-SHA256); what is sent then is not encrypted. Workers of this computer connect to 127.0.0.1. Whoever else connects while
    they start is sent away, delays nobody, and nothing that it sends is believed; when they have started nothing listens any
    more. They end when this process ends or closes.

    Examples
    --------
    >>> import numpy as np, hetsched as hs
    >>> plan = hs.plan_product(4, 8, 3, hs.Platform.star([2, 3], memory=[12, 21]))
    >>> with hs.mpi.Workers(2) as workers:
    ...     C = workers.matmul(np.ones((40, 30)), np.ones((30, 80)), plan)
    >>> C[0, 0]
    np.float64(30.0)
    """

    def __init__(
        self, hosts: int | Sequence[str], agent: str = "ssh", *, python: str | None = None, address: str | None = None,
        threads: int | None = None,
    ) -> None:  # fmt: skip
        local = isinstance(hosts, int) and not isinstance(hosts, bool)
        count = check.integer("hosts", hosts, low=1, high=4096) if local else len(check.entries("hosts", hosts, "names"))
        if count == 0:
            raise ValueError("hosts are none")
        if threads is None and local:
            threads = max(1, topology().worth // count)
        self.names = check.names(count, None if local else hosts)  # type: ignore[arg-type]
        self._local = local
        self._prefixes = [[] if local else _prefix(agent, name) for name in self.names]
        self._command = [python or sys.executable, "-m", "hetsched", "mpi", "worker"]
        if threads is not None:
            self._command += ["--threads", str(check.integer("threads", threads, low=1, high=4096))]
        self._address = address or ("127.0.0.1" if local else socket.gethostname())
        self._lock = threading.Lock()
        self._crew: _Crew | None = None
        self._closed = False
        self.lost: dict[str, str] = {}
        self._start()

    def matmul(
        self, A: ArrayLike, B: ArrayLike, plan: StarPlan, *, order: str = "plan", trace: bool = False,
        progress: bool | Progress | None = None, timeout: float = TIMEOUT,
    ) -> Any:  # fmt: skip
        """A B by a plan of `plan_product` for as many workers.

        Parameters
        ----------
        A, B : (m, k) and (k, n) array_like
        plan : StarPlan
        order : {"plan", "demand"}
            As of `Pool.run`; "demand" from the first worker on that is lost.
        trace, progress :
            As of `Pool`.
        timeout : float
            Seconds without an answer after which a worker is given up, and killed where it is a process of this computer.

        Returns
        -------
        ndarray, or (ndarray, Trace)

        Raises
        ------
        LostRank
            If all workers are lost, or none that is left has memory for a chunk.
        ValueError, TypeError
            Before anything is sent.
        Exception
            What a worker has raised, with its rank in the text. After an error the workers are started anew by the next call.
        """
        timeout, trace = check.number("timeout", timeout, above=0.0), check.flag("trace", trace)
        if not isinstance(plan, StarPlan):
            raise TypeError(f"plan must be a StarPlan, got {type(plan).__name__}")
        if len(plan.names) != len(self.names):
            raise ValueError(f"plan is for {len(plan.names)} workers, there are {len(self.names)}")
        with self._lock, reporting(progress) as tell:
            if self._closed:
                raise ValueError("workers are closed")
            x = operands_of(A, B)
            product = product_of(plan, x, order)
            master = master_of(plan, product, x, order, list(range(1, 1 + len(self.names))), tell)
            crew = self._crew or self._start()

            def fell(rank: int, why: str) -> None:
                self.lost[self.names[rank - 1]] = why
                crew.kill(rank)
                master.lost(rank, why)

            async def lead(loop: Loop) -> None:
                for rank, why in crew.lost.items():
                    master.lost(rank, why)
                for peer in master.peers:
                    if peer.alive:
                        loop.tell(("product", (product, trace)), peer.rank)
                await master.run(loop, trace)

            loop = Loop(crew.star, timeout, master.heard, fell)
            loop.gone = crew.lost
            try:
                loop.run(lead(loop))
            except BaseException:
                self._end()
                raise
            return (x.result, trace_of(plan, x, order, master)) if trace else x.result

    def close(self) -> None:
        """End the workers. Closing twice is allowed."""
        with self._lock:
            self._closed = True
            self._end()

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        state = ", closed" if self._closed else f", lost: {', '.join(self.lost)}" if self.lost else ""
        return f"<Workers: {', '.join(self.names)}{state}>"

    def _start(self) -> _Crew:
        self._crew = _Crew(self.names, self._prefixes, self._command, self._address, self._local)
        self._finalizer = weakref.finalize(self, self._crew.end)
        self.lost = {}
        return self._crew

    def _end(self) -> None:
        if self._crew is not None:
            self._finalizer()
            self._crew = None


def _prefix(agent: str, host: str) -> list[str]:
    if not isinstance(agent, str) or not agent.strip():
        raise ValueError(f"agent must be a command such as 'ssh', got {agent!r}")
    words = shlex.split(agent)
    return [word.replace("{host}", host) for word in words] if "{host}" in agent else [*words, host]


class _Crew:
    """Processes and their connections.

    Attributes
    ----------
    lost : dict of int to str
        Ranks that are given up, and why.
    """

    def __init__(
        self, names: tuple[str, ...], prefixes: list[list[str]], command: list[str], address: str, local: bool
    ) -> None:  # fmt: skip
        self._names = names
        self._patience = 0.0 if local else _BREAK
        self._processes: list[subprocess.Popen[bytes]] = []
        self._said: list[IO[bytes]] = []
        self.lost: dict[int, str] = {}
        self.star = sockets.Star(0, 1 + len(prefixes))
        secret = secrets.token_hex(32)
        try:
            with _listener(address, len(prefixes)) as listener:
                at = f"{address}:{listener.getsockname()[1]}"
                for rank, prefix in enumerate(prefixes, 1):
                    self._launch([*prefix, *command, "--connect", at, "--rank", str(rank)], secret)
                with contextlib.closing(handshake.Door(listener, secret.encode(), len(prefixes))) as door:
                    self._accept(door)
        except BaseException:
            self.end()
            raise
        self._patience = 0.0 if local else _END

    def _launch(self, command: list[str], secret: str) -> None:
        self._said.append(tempfile.TemporaryFile())  # noqa: SIM115
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=self._said[-1], stderr=self._said[-1], start_new_session=True
        )
        self._processes.append(process)
        assert process.stdin is not None
        with contextlib.suppress(BrokenPipeError), process.stdin as way:  # what went wrong, it says itself
            way.write(f"{secret}\n".encode())

    def _accept(self, door: handshake.Door) -> None:
        """The connections of all workers."""
        missing = set(range(1, 1 + len(self._processes)))
        end = time.monotonic() + _START
        while missing:
            self._require_running(missing)
            if time.monotonic() > end:
                names = ", ".join(self._names[rank - 1] for rank in sorted(missing))
                raise OSError(f"workers {names} have not connected within {_START:g} s")
            for connection, who in door.look(_LOOK):
                try:
                    rank = self._rank(who)
                except OSError:
                    connection.close()
                    raise
                if rank in missing:
                    missing.remove(rank)
                    self.star.add(rank, connection)
                else:
                    connection.close()

    def _rank(self, who: Any) -> int | None:
        """Of one that knows the secret."""
        match who:
            case [int(rank), theirs] if theirs == list(THIS):
                return rank
            case [int(rank), theirs] if 1 <= rank <= len(self._names):
                name = self._names[rank - 1]
                raise OSError(f"worker {name} runs hetsched {theirs}, this process {list(THIS)}: they must be the same")
        return None

    def _require_running(self, missing: set[int]) -> None:
        for rank, process in enumerate(self._processes, 1):
            if rank in missing and process.poll() is not None:
                said = self._said[rank - 1]
                said.seek(0)
                text = said.read().decode(errors="replace")[-_TAIL:].strip()
                name, status = self._names[rank - 1], process.returncode
                raise OSError(f"worker {name} ended with status {status} before it connected: {text or 'it said nothing'}")

    def kill(self, rank: int) -> None:
        """The process of a worker that is given up."""
        self._processes[rank - 1].kill()
        self._processes[rank - 1].wait()

    def end(self) -> None:
        """All connections, and then all processes."""
        self.star.close()
        end = time.monotonic() + self._patience
        for process in self._processes:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(max(0.0, end - time.monotonic()))
            process.kill()
            process.wait()
        for said in self._said:
            said.close()


def _listener(address: str, workers: int) -> socket.socket:
    """At a free port of the interface with that address.

    The name of this computer may mean another address here than to the workers, often one of the loopback, and an address that is
    translated on its way means nothing here: then all interfaces listen.
    """
    if address != socket.gethostname():
        with contextlib.suppress(OSError):
            host = socket.gethostbyname(address)
            if address in (host, "localhost") or not ipaddress.ip_address(host).is_loopback:
                return socket.create_server((host, 0), backlog=_BACKLOG + workers)
    return socket.create_server(("", 0), backlog=_BACKLOG + workers)


# ---- the other side ----


class _Server:
    """What a worker does, product after product."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._worker = Worker(0)
        self._products: deque[tuple[Product, bool]] = deque()
        self._told = Condition()

    def heard(self, source: int, what: Any) -> None:
        kind, value = what
        if kind == "product":
            self._worker = Worker(0)
            self._products.append(value)
            self._told.changed()
        else:
            self._worker.heard(source, what)

    async def run(self, loop: Loop) -> None:
        while True:
            await self._told.until(loop, lambda: bool(self._products))
            product, traced = self._products.popleft()
            await self._worker.run(loop, product, self._pool, traced)


def work(host: str, port: int, rank: int, secret: str, threads: int | None) -> None:
    """Be a worker of the master at that address, until he ends the connection.

    Raises
    ------
    OSError
        If there is no such master.
    """
    connection = socket.create_connection((host, port), _START)
    handshake.shake(connection, handshake.introduce(secret.encode(), rank, THIS), _START)
    star = sockets.Star(rank, 1 + rank, {0: connection})
    server = _Server(shared_pool() if threads is None else unpinned_pool(threads))
    loop = Loop(star, math.inf, server.heard, lambda *_: None)
    try:
        loop.run(server.run(loop))
    except LostRank:  # the master has ended
        pass
    except Exception as error:
        if not knows(error):
            raise
