"""A product divided among the domains of a machine, then among the workers of each domain.

It also counts the data that the domains move.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._base import check
from ..platform import Platform

#: Depth and columns of the packed panels that plans assume.
PANEL = (256, 4096)


class Domains(NamedTuple):
    """What the domains of a platform do in a product, for panels 256 deep and 4096 columns wide.

    names: names of the d domains, in the order of their first workers; "" for workers without a
    domain. of: (p,) int64, domain of each worker. packed: (d,) bytes of panels that each domain
    packs: its rows of A once for each panel of its columns of B, and these columns once. traffic:
    (d, 2) packed bytes that each domain reads from other nodes, if A and B lie on the node of the
    first worker, and if they are interleaved over all nodes. synchronisations: (d,) int64, how
    often a worker of the domain waits for the other workers: each worker once for each panel.
    """

    names: tuple[str, ...]
    of: NDArray[np.int64]
    packed: NDArray[np.float64]
    traffic: NDArray[np.float64]
    synchronisations: NDArray[np.int64]


def members(platform: Platform) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """Names of the domains in the order of their first workers, and (p,) domain of each worker."""
    first = {domain: i for i, domain in enumerate(dict.fromkeys(platform.domains))}
    of = np.array([first[domain] for domain in platform.domains], np.int64)
    return tuple("" if domain is None else str(domain) for domain in first), of


def counted(
    zones: NDArray[np.int64],
    k: int,
    platform: Platform,
    itemsize: int,
    panel: Sequence[int] = PANEL,
) -> Domains:
    """What the domains of a platform do with zones (worker, row, col, height, width) of C.

    The zones of each domain form a rectangle.
    """
    names, of = members(platform)
    depth, cols = panel
    d = len(names)
    heights, widths, workers = np.zeros(d, np.int64), np.zeros(d, np.int64), np.zeros(d, np.int64)
    for domain in range(d):
        own = zones[(of[zones[:, 0]] == domain) & (zones[:, 3] > 0) & (zones[:, 4] > 0)]
        if len(own):
            low, high = own[:, 1:3].min(axis=0), (own[:, 1:3] + own[:, 3:5]).max(axis=0)
            heights[domain], widths[domain] = high - low
            workers[domain] = len(np.unique(own[:, 0]))
    across = -(-widths // cols)
    packed = itemsize * float(k) * (heights.astype(np.float64) * across + widths)
    far, several = _away(platform, of, d)
    traffic = np.stack((packed * far, packed * (1.0 - 1.0 / several)), axis=1)
    meetings = across * -(-k // depth) * workers
    return Domains(names, *(check.frozen(array) for array in (of, packed, traffic, meetings)))


def _away(platform: Platform, of: NDArray[np.int64], d: int) -> tuple[NDArray[np.bool_], int]:
    """Whether each domain is on another node than the first worker, (d,), and the number of nodes.

    The node of a domain is the node of its first worker.
    """
    if platform.nodes is None:
        return np.zeros(d, np.bool_), 1
    heads = [platform.nodes[int(np.argmax(of == domain))] for domain in range(d)]
    return np.array([node != platform.nodes[0] for node in heads]), len(set(platform.nodes))
