"""Workers in separate processes, here or on other computers. Products survive the loss of some."""

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
_LOOK = 0.05  # seconds between checks of processes that have not connected
_END = 1.0  # seconds that agents have to end after the connections of their workers have ended
_BREAK = 0.1  # the same if the start has failed or was interrupted
_BACKLOG = 128  # connections that may wait to be accepted, in addition to the workers
_TAIL = 500  # characters of a worker's output that an error message repeats


class Workers:
    """Workers on this computer or on other ones. This process starts them and is their master.

    Each worker is a process of its own. No MPI is needed. If a worker dies or does not answer, the
    other workers do the work that it has not returned.

    Parameters
    ----------
    hosts : int or sequence of str
        Number of workers on this computer, or names of hosts, with one worker on each.
    agent : str
        Command that runs another command on a host. The host is appended to it, or replaces
        "{host}", as in "srun --nodes=1 --ntasks=1 --overlap --nodelist={host}". It must forward
        its standard input.
    python : str, optional
        Python interpreter of the workers. Default: the interpreter of this process.
    address : str, optional
        Address by which the hosts reach this computer. Default: its name. If this computer has the
        given address, only that interface listens for workers, else all interfaces do.
    threads : int, optional
        Threads of each worker. Default: all cores that are worth a thread; workers on this
        computer share them.

    Attributes
    ----------
    names : tuple of str
    lost : dict of str to str
        Lost workers, and why. The other workers also do their part of later products.

    Raises
    ------
    OSError
        If a worker does not start, or has not connected after a minute. The message has its name
        and its output.

    Notes
    -----
    The workers connect to this process by TCP. They get a secret through their standard input, and
    both sides prove their identity with it (HMAC-SHA256). Data sent after that are not encrypted.
    Workers on this computer connect to 127.0.0.1. Any other connection during the start is closed;
    it delays no worker, and nothing that it sends is trusted. After the start nothing listens any
    more. The workers end when this process ends or closes them.

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
        self,
        hosts: int | Sequence[str],
        agent: str = "ssh",
        *,
        python: str | None = None,
        address: str | None = None,
        threads: int | None = None,
    ) -> None:
        local = isinstance(hosts, int) and not isinstance(hosts, bool)
        count = (
            check.integer("hosts", hosts, low=1, high=4096)
            if local
            else len(check.entries("hosts", hosts, "names"))
        )
        if count == 0:
            raise ValueError("hosts must have at least one name, got none")
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
        self,
        A: ArrayLike,
        B: ArrayLike,
        plan: StarPlan,
        *,
        order: str = "plan",
        trace: bool = False,
        progress: bool | Progress | None = None,
        timeout: float = TIMEOUT,
    ) -> Any:
        """Compute A B by a plan of `plan_product` for as many workers.

        Parameters
        ----------
        A, B : (m, k) and (k, n) array_like
        plan : StarPlan
        order : {"plan", "demand"}
            See `Pool.run`. Once a worker is lost, the order is "demand".
        trace, progress :
            See `Pool`.
        timeout : float
            Seconds without an answer after which a worker is given up. If it is a process of this
            computer, it is also killed.

        Returns
        -------
        ndarray, or (ndarray, Trace)

        Raises
        ------
        LostRank
            If all workers are lost, or no remaining worker has memory for a chunk.
        ValueError, TypeError
            If an argument is invalid, before anything is sent.
        Exception
            An error of a worker, with its rank in the text. After an error, the next call starts
            the workers anew.
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
            product, simulated = product_of(plan, x, order)
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
            return (x.result, trace_of(plan, x, simulated, master)) if trace else x.result

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
        state = ""
        if self._closed:
            state = ", closed"
        elif self.lost:
            state = f", lost: {', '.join(self.lost)}"
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
    """The processes of the workers, and their connections.

    Attributes
    ----------
    lost : dict of int to str
        Ranks of lost workers, and why they are lost.
    """

    def __init__(
        self,
        names: tuple[str, ...],
        prefixes: list[list[str]],
        command: list[str],
        address: str,
        local: bool,
    ) -> None:
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
                with contextlib.closing(
                    handshake.Door(listener, secret.encode(), len(prefixes))
                ) as door:
                    self._accept(door)
        except BaseException:
            self.end()
            raise
        self._patience = 0.0 if local else _END

    def _launch(self, command: list[str], secret: str) -> None:
        self._said.append(tempfile.TemporaryFile())  # noqa: SIM115
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=self._said[-1],
            stderr=self._said[-1],
            start_new_session=True,
        )
        self._processes.append(process)
        assert process.stdin is not None
        # a process that has ended says why in its output
        with contextlib.suppress(BrokenPipeError), process.stdin as way:
            way.write(f"{secret}\n".encode())

    def _accept(self, door: handshake.Door) -> None:
        """Accept the connections of all workers."""
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
        """The rank of a peer that has proved that it knows the secret; None if it gives none."""
        match who:
            case [int(rank), theirs] if theirs == list(THIS):
                return rank
            case [int(rank), theirs] if 1 <= rank <= len(self._names):
                name = self._names[rank - 1]
                raise OSError(
                    f"worker {name} runs hetsched {theirs}, this process {list(THIS)}: they must be"
                    " the same"
                )
        return None

    def _require_running(self, missing: set[int]) -> None:
        for rank, process in enumerate(self._processes, 1):
            if rank in missing and process.poll() is not None:
                said = self._said[rank - 1]
                said.seek(0)
                text = said.read().decode(errors="replace")[-_TAIL:].strip()
                name, status = self._names[rank - 1], process.returncode
                raise OSError(
                    f"worker {name} ended with status {status} before it connected:"
                    f" {text or 'it said nothing'}"
                )

    def kill(self, rank: int) -> None:
        """Kill the process of a worker that is given up."""
        self._processes[rank - 1].kill()
        self._processes[rank - 1].wait()

    def end(self) -> None:
        """End all connections, then all processes."""
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
    """Listen at a free port of the interface with this address, or of all interfaces.

    All interfaces are used for the name of this computer, which may mean another address here than
    to the workers (often a loopback address), and for an address that this computer does not have,
    such as one that is translated on its way.
    """
    if address != socket.gethostname():
        with contextlib.suppress(OSError):
            host = socket.gethostbyname(address)
            if address in (host, "localhost") or not ipaddress.ip_address(host).is_loopback:
                return socket.create_server((host, 0), backlog=_BACKLOG + workers)
    return socket.create_server(("", 0), backlog=_BACKLOG + workers)


# ---- the other side ----


class _Server:
    """What a worker process does: product after product."""

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
    """Run as a worker of the master at this address, until the master ends the connection.

    Raises
    ------
    OSError
        If there is no master at this address.
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
