"""What plans cost beside the work: bytes sent, time per message, the root's port; bench_cluster.py
--parts port runs it.

Bytes and messages are those that Open MPI's own monitoring counts of the program's point-to-point
messages (not of its collectives, by which ranks agree): one call is the difference of a run with
three calls and one with a single one, halved.
"""

from __future__ import annotations

import re
import statistics
import tempfile
from pathlib import Path
from typing import Any

from cluster import Cluster, Host

WORKERS = (1, 2, 4, 8)
RATE = "200mbit"
SMALL = {"shape": (12, 12, 12), "block": 8, "dtype": "float64"}
EQUAL = {"cycle_times": [1e-6] * 4, "link_costs": [1e-6] * 4, "memory": [45] * 4}

Row = dict[str, Any]


def port(on_ranks: Any) -> list[Row]:
    """Rows of three kinds, each with "what"."""
    with Cluster([Host()] * 5) as cluster:
        rows = bytes_of_products(on_ranks, cluster)
        rows.append(time_of_messages(on_ranks, cluster))
    return rows + scaling(on_ranks)


def bytes_of_products(on_ranks: Any, cluster: Cluster) -> list[Row]:
    star = {
        "kind": "star",
        "shape": (9, 10, 11),
        "block": 40,
        "dtype": "float64",
        "methods": ["het"],
        **EQUAL,
    }
    gflops = [4.0, 4.0, 2.0, 1.0, 1.0]
    product = {"kind": "product", "n": 1003, "from_root": True, "gflops": gflops}
    rows = []
    for job in (product, star):
        counts = []
        for rounds in (1, 3):
            (found,) = monitored(on_ranks, cluster, {**job, "rounds": rounds}, counts)
        (bytes_1, messages_1), (bytes_3, messages_3) = counts
        planned = (
            found["bytes"] if job is product else found["methods"]["het"]["blocks"] * 40**2 * 8
        )
        sent, messages = (bytes_3 - bytes_1) / 2, (messages_3 - messages_1) / 2
        rows.append(
            {
                "what": "bytes",
                "kind": job["kind"],
                "planned": planned,
                "sent": sent,
                "messages": messages,
            }
        )
        print(
            f"  {job['kind']:8} {planned:12.0f} bytes planned {sent:12.0f} sent in {messages:.0f}"
            " messages",
            flush=True,
        )
    return rows


def monitored(
    on_ranks: Any, cluster: Cluster, job: Row, counts: list[tuple[int, int]]
) -> list[Row]:
    """What a job finds; the bytes and messages of all ranks are added to the counts."""
    with tempfile.TemporaryDirectory(prefix="monitoring-") as place:
        given = {
            "pml": "ob1,monitoring",
            "pml_monitoring_enable": "2",
            "pml_monitoring_enable_output": "3",
            "pml_monitoring_filename": f"{place}/of",
        }
        found: list[Row] = on_ranks(
            cluster,
            [job],
            options=[word for name in given for word in ("--mca", name, given[name])],
        )
        lines = [
            re.match(r"E\t\d+\t\d+\t(\d+) bytes\t(\d+) msgs", line)
            for file in Path(place).glob("*.prof")
            for line in file.open()
        ]
    counts.append(
        (sum(int(line[1]) for line in lines if line), sum(int(line[2]) for line in lines if line))
    )
    return found


def time_of_messages(on_ranks: Any, cluster: Cluster) -> Row:
    """Of a star's blocks of 8 x 8, where neither bytes nor flops count, and of a byte between two
    ranks."""
    job = {"kind": "star", "methods": ["orroml"], "rounds": 5, **SMALL, **EQUAL}
    star, links = on_ranks(cluster, [job, {"kind": "links", "bytes": 1 << 20}])
    each = star["methods"]["orroml"]
    seconds = statistics.median(each["measured"]) / each["messages"]
    row = {
        "what": "message",
        "seconds": seconds,
        "messages": each["messages"],
        "empty": links["latency"][1:],
    }
    print(
        f"  {1e6 * seconds:.0f} us for each of {each['messages']} small messages of a star, ",
        end="",
    )
    print(f"{1e6 * statistics.median(row['empty']):.0f} us for a byte alone", flush=True)
    return row


def scaling(on_ranks: Any) -> list[Row]:
    """A matrix scattered in equal zones to more and more workers with links of the same rate, and
    that of the root unlimited."""
    rows = []
    for workers in WORKERS:
        with Cluster([Host(), *[Host(rate=RATE)] * workers]) as cluster:
            (found,) = on_ranks(cluster, [{"kind": "scatter", "n": 2000, "rounds": 3}])
        rate = 8 * found["bytes"] / statistics.median(found["seconds"])
        rows.append({"what": "scaling", "workers": workers, "rate": rate, **found})
        print(
            f"  {workers} workers with {RATE}: the root sends {rate / 1e6:.0f} Mbit/s", flush=True
        )
    return rows
