"""One gang against a gang for each domain: what they would move, counted, and what two kernels
reach together.

The counts, of float64 products n x n x n with panels 256 deep and 4096 columns wide: bytes of
packed panels; bytes read from other nodes where A and B are interleaved over them, and how often a
worker waits for others. The panels of one gang lie evenly on all nodes; the cache of each domain
reads those of B whole, and those of A are read where they were packed. Nothing is run.

The runs: two domains of a core each, as HETSCHED_TOPOLOGY describes them, with our AVX-512 and our
AVX2 kernels on one machine. The calls of all ways take turns; a figure is the median. "sum" is that
of the two kernels, each alone on its own core.
"""

from __future__ import annotations

import itertools
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import numpy as np
from common import medians, parser, print_machine, turns

import hetsched as hs
from hetsched._engine.kernels import kernel, sizes
from hetsched.planners.product_domains import PANEL

SIZES = (1000, 2000, 4000, 8000, 16000)
KERNELS = ("avx512", "avx2")
OPERATIONS = ("product", "LU", "Cholesky", "QR")


def machines() -> dict[str, hs.Platform]:
    """Name -> workers, with their domains, nodes and speeds."""
    two = hs.Platform.star(np.full(128, 0.02), domains=np.repeat(np.arange(16), 8).tolist())
    little = hs.Platform.star(np.repeat([0.02, 0.05], [4, 8]), domains=["big"] * 4 + ["LITTLE"] * 8)
    return {
        "2 cores, 1 domain": hs.Platform.star([0.02, 0.02], domains=[0, 0]),
        "2 x 64 cores, 16 domains": hs.Platform(two.workers, nodes=["node0"] * 64 + ["node1"] * 64),
        "4 big, 8 LITTLE cores": little,
    }


def of_one_gang(n: int, platform: hs.Platform) -> tuple[float, float, int]:
    """Packed bytes, bytes from other nodes, synchronisations."""
    depth, cols = PANEL
    panels, nodes = -(-n // cols), len(set(platform.nodes or ("node0",)))
    packed = 8.0 * n * n * (panels + 1)
    across = (packed + len(set(platform.domains)) * 8.0 * n * n) * (1 - 1 / nodes)
    return packed, across, panels * -(-n // depth) * len(platform)


def of_domains(n: int, platform: hs.Platform) -> tuple[float, float, int]:
    """The same."""
    found = hs.plan_matmul(n, n, n, platform, method="domains").domains
    return (
        float(found.packed.sum()),
        float(found.traffic[:, 1].sum()),
        int(found.synchronisations.sum()),
    )


def counts() -> None:
    """The first half of the report."""
    for name, platform in machines().items():
        print(f"\n{name}: one gang, and a gang for each domain")
        print(f"{'n':>6} {'GB packed':>19} {'GB across nodes':>19} {'synchronisations':>19}")
        for n in SIZES:
            pairs = zip(of_one_gang(n, platform), of_domains(n, platform), strict=True)
            (one, own), (far, near), (all_wait, own_wait) = pairs
            print(
                f"{n:6} {one / 1e9:9.3f} {own / 1e9:9.3f} {far / 1e9:9.3f} {near / 1e9:9.3f}"
                f" {all_wait:9} {own_wait:9}"
            )


@contextmanager
def described(domains: list[tuple[str, str]], folder: Path) -> Iterator[None]:
    """With HETSCHED_TOPOLOGY of such (cpus, kernel) domains."""
    path = folder / "machine.toml"
    path.write_text(
        "\n".join(f'[[domain]]\ncpus = "{cpus}"\nkernel = "{name}"' for cpus, name in domains)
    )
    os.environ["HETSCHED_TOPOLOGY"] = str(path)
    try:
        yield
    finally:
        del os.environ["HETSCHED_TOPOLOGY"]


def calls(operation: str, n: int, dtype: type) -> tuple[float, Callable[[hs.Pool], object]]:
    """Flops, and what is called with each pool."""
    rng = np.random.default_rng(0)
    a, b = (np.asfortranarray(rng.standard_normal((n, n)).astype(dtype)) for _ in range(2))
    np.fill_diagonal(a, 3.0 * n)
    c = np.empty((n, n), dtype)
    return {
        "product": (2.0 * n**3, lambda pool: pool.matmul(a, b, out=c)),
        "LU": (2 / 3 * n**3, lambda pool: pool.lu_factor(a, check_finite=False)),
        "Cholesky": (1 / 3 * n**3, lambda pool: pool.cholesky(a, check_finite=False)),
        "QR": (4 / 3 * n**3, lambda pool: pool.qr(a, mode="r", check_finite=False)),
    }[operation]


def rates(
    pools: dict[str, hs.Pool], operation: str, n: int, dtype: type, rounds: int
) -> dict[str, float]:
    """GFLOP/s of each pool; their calls take turns."""
    flops, call = calls(operation, n, dtype)
    own = {name: partial(call, pool) for name, pool in pools.items()}
    turns(own, 1, pause=0.0, warm=False)
    found = medians(own, rounds, pause=0.0, warm=False)
    return {name: 1e-9 * flops / seconds for name, seconds in found.items()}


def pool_of(domains: list[tuple[str, str]], speeds: list[float], folder: Path) -> hs.Pool:
    with described(domains, folder):
        return hs.Pool(hs.Platform.star(speeds=speeds))


def measured(operation: str, n: int, dtype: type, rounds: int, folder: Path) -> None:
    """A line of the second half."""
    first, second = map(str, hs.topology().places[:2])
    with ExitStack() as stack:
        own = zip((first, second), KERNELS, strict=True)
        alone = {
            name: stack.enter_context(pool_of([(cpu, name)], [1.0], folder)) for cpu, name in own
        }
        speeds = list(rates(alone, operation, n, dtype, 3).values())
        pools = alone | {
            f"2 x {name}": stack.enter_context(
                pool_of([(f"{first},{second}", name)], [1.0, 1.0], folder)
            )
            for name in KERNELS
        }
        both = [(first, KERNELS[0]), (second, KERNELS[1])]
        pools["both"] = stack.enter_context(pool_of(both, speeds, folder))
        found = rates(pools, operation, n, dtype, rounds)
    total = sum(found[name] for name in KERNELS)
    best = max(found[f"2 x {name}"] for name in KERNELS)
    line = " ".join(f"{found[name]:9.1f}" for name in pools)
    print(
        f"{operation:>8} {np.dtype(dtype).name:>8} {n:6} {line} {found['both'] / total:12.2f}"
        f" {found['both'] / best:12.2f}"
    )


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--rounds", type=int, default=9, help="timed calls of each way")
    options.add_argument("--counts", action="store_true", help="only what is counted, without runs")
    given = options.parse_args()
    print_machine()
    counts()
    if given.counts:
        return
    try:
        tuple(map(sizes, KERNELS))
    except NotImplementedError:
        sys.exit(f"this processor does not have both {' and '.join(KERNELS)}: nothing is run")
    names = [*KERNELS, *(f"2 x {name}" for name in KERNELS), "both"]
    print(
        f"\nGFLOP/s on 2 cores, own kernels of {', '.join(KERNELS)} (in use otherwise:"
        f" {kernel()['name']})"
    )
    print(
        f"{'':>17} {'n':>6} {' '.join(f'{name:>9}' for name in names)} {'both / sum':>12}"
        f" {'both / best':>12}"
    )
    with tempfile.TemporaryDirectory() as folder:
        for operation, dtype, n in itertools.product(
            OPERATIONS, (np.float64, np.float32), (2000, 4000)
        ):
            measured(operation, n, dtype, given.rounds, Path(folder))


if __name__ == "__main__":
    main()
