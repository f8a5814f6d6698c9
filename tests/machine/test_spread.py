"""Pools with fewer workers than cores: where they run, and that processes spread."""

from __future__ import annotations

import json
import math
import os
import random
import subprocess
import sys

import numpy as np
import pytest
from inputs import many

import hetsched as hs
from hetsched._engine.sites import Site, choose_sites, workers_for_quota
from hetsched.machine.spread import sites, spread
from hetsched.machine.topology import topology
from hetsched.runners import shared

PROCESSES, WORKERS = 32, 2


HOSTS = [(8, 8), (16, 16), (4, 16)]  # domains and cores of each


@pytest.fixture(params=HOSTS, ids=lambda size: f"{size[0]}x{size[1]}")
def host(request, tmp_path, monkeypatch):
    """A machine of several domains, each with as many cores."""
    domains, cores = request.param
    path = tmp_path / "machine.toml"
    path.write_text(
        "".join(
            f'[[domain]]\ncpus = "{i * cores}-{(i + 1) * cores - 1}"\nl3 = 33554432\n'
            for i in range(domains)
        )
    )
    monkeypatch.setenv("HETSCHED_TOPOLOGY", str(path))
    monkeypatch.setattr(shared, "_shared", None)  # other tests do not get the pool of this machine
    return topology()


def _excess(host, members) -> int:
    """Workers beyond the number of cores, over all domains."""
    room = [len(domain.cpus) for domain in host.domains]
    return sum(max(0, members.count(i) - room[i]) for i in range(len(room)))


def test_sites_are_the_domains(host):
    found = sites(host)
    assert [site.cpus for site in found] == [domain.cpus for domain in host.domains]
    assert {site.kind for site in found} == {0}
    assert all(site.cores == len(site.cpus) for site in found)


@pytest.mark.few(1)
def test_processes_that_start_together_spread(host):
    """Their workers overlap no more than those of processes that each take a random domain."""
    draw = random.Random(7)
    chosen = at_random = 0
    trials = many(200, 50)
    for _ in range(trials):
        own, other = [], []
        for _ in range(PROCESSES):
            workers = spread(host, WORKERS)
            assert len(workers) == WORKERS
            assert len(set(workers)) == 1
            own += workers
            other += [draw.randrange(len(host.domains))] * WORKERS
        chosen += _excess(host, own)
        at_random += _excess(host, other)
    assert chosen <= 1.25 * at_random + 0.5 * trials


def test_processes_that_see_the_load_do_not_overlap(host):
    found = sites(host)
    for _ in range(many(50, 10)):
        free = [float(site.cores) for site in found]
        for _ in range(min(PROCESSES, sum(site.cores for site in found) // WORKERS)):
            chosen = choose_sites(WORKERS, found, np.array(free))
            assert sum(chosen) == WORKERS
            assert all(n <= left for n, left in zip(chosen, free, strict=True))
            free = [left - n for n, left in zip(chosen, free, strict=True)]


@pytest.mark.slow
@pytest.mark.parametrize("host", HOSTS, indirect=True, ids=str)
def test_each_process_chooses_anew(host):
    code = (
        "from hetsched.machine.spread import spread\n"
        "from hetsched.machine.topology import topology\n"
        "print(spread(topology(), 2))"
    )
    started = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        for _ in range(8)
    ]
    found = {process.communicate(timeout=120)[0] for process in started}
    assert len(found) > 1  # all eight the same: once in 4^7 runs or less


@pytest.mark.few(1)
def test_forked_children_choose_anew(host):
    found = set()
    for _ in range(12):
        read, write = os.pipe()
        child = os.fork()
        if not child:
            os.write(write, json.dumps(spread(host, 1)).encode())
            os._exit(0)
        os.waitpid(child, 0)
        found.add(os.read(read, 100))
        os.close(read)
        os.close(write)
    assert len(found) > 1


def test_a_pool_asks_for_the_cpus_of_a_domain(host):
    with hs.Pool(2) as pool:
        workers = pool._workers
        assert workers.cores is None
        assert len(workers.site_of) == 1
        assert workers.sites[workers.site_of[0]].cpus in [d.cpus for d in host.domains]
        assert hs.matmul([[2.0]], [[3.0]]).tolist() == [[6.0]]
        assert (pool.matmul([[2.0]], [[3.0]]) == 6.0).all()


def test_more_workers_than_a_domain_has_cores(host):
    cores = len(host.domains[0].cpus)
    members = spread(host, cores + 1)
    assert sorted(members.count(i) for i in set(members)) == [1, cores]
    assert spread(host, 2 * host.cpus)[0] == 0  # all domains, and two workers on each core


@pytest.mark.slow
@pytest.mark.skipif(len(topology().groups()) < 2, reason="one core")
def test_the_system_moves_the_workers_of_a_smaller_pool():
    """They may use each cpu of their domain. In a pool with a worker for each core each has its
    own."""
    code = (
        "import glob, hetsched as hs\n"
        "here = hs.topology()\n"
        "def is_worker(task):\n"
        "    return open(task + 'comm').read() == 'hetsched-worker\\n'\n"
        "def mask(task):\n"
        "    return open(task + 'status').read().partition('Cpus_allowed_list:')[2].split()[0]\n"
        "def masks(workers):\n"
        "    with hs.Pool(workers):\n"
        "        found = []\n"
        "        while len(found) < workers:\n"  # a new thread has no name yet
        "            found = list(filter(is_worker, glob.glob('/proc/self/task/*/')))\n"
        "        return list(map(mask, found))\n"
        "print(*masks(1))\n"
        "print(len(set(masks(here.cores))), here.cores)\n"
        "from hetsched.machine.linux import ranges\n"
        "print(*[ranges(domain.cpus) for domain in here.domains])\n"
    )
    environment = {k: v for k, v in os.environ.items() if k != "OMP_NUM_THREADS"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    one, (own, cores), domains = map(str.split, done.stdout.splitlines())
    assert set(one) <= set(domains)
    assert topology().quota is not None or own == cores


def test_a_quota_is_rounded_up_for_a_tenth():
    quotas = {0.5: 1, 1.0: 1, 1.05: 1, 1.1: 2, 1.5: 2, 2.0: 2, 3.2: 3, 3.3: 4, math.inf: 2**31 - 1}
    assert {quota: workers_for_quota(quota) for quota in quotas} == quotas


def test_wrong_sites():
    for wrong in (Site((), 1, 0), Site((0,), 0, 0), Site((0,), 1, -1), Site((-1,), 1, 0)):
        with pytest.raises(ValueError, match="outside its documented range"):
            choose_sites(1, [wrong], None)
