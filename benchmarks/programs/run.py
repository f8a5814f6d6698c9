"""Runs a program of programs.py and prints its time.

    python run.py NAME WAY SECONDS

1. It imports, makes the data, prints "ready" and waits for a line on its standard input.
2. It repeats the work until WARM_UP seconds have passed, which are not timed.
3. It repeats the work until SECONDS seconds have passed, and prints the mean seconds of one
   repetition.

WAY is how the work is done: `alone`, or four times at once by `threads`, `joblib` or `fork`.
programs.m and programs.R do the same for programs in Octave and R.
"""

import multiprocessing
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from programs import run_once, work_of

#: Longer than `hetsched exec` needs to learn the load of the machine.
WARM_UP = 0.15
COPIES = 4


def alone(name):
    """The work, once, on the main thread."""
    return work_of(name)


def threads(name):
    """A Python thread for each copy of the work."""
    work = work_of(name)

    def run():
        with ThreadPoolExecutor(COPIES) as pool:
            for done in [pool.submit(work) for _ in range(COPIES)]:
                done.result()

    return run


def joblib(name):
    """Two processes of joblib's default backend, loky. The program asks for two BLAS threads in
    each. The static choices are other numbers, which the environment tells."""
    from joblib import Parallel, delayed, parallel_config

    inner = int(os.environ.get("OPENBLAS_NUM_THREADS", 2))

    def run():
        with parallel_config("loky", inner_max_num_threads=inner):
            Parallel(n_jobs=2)(delayed(run_once)(name) for _ in range(COPIES))

    return run


def fork(name):
    """Two forked processes, which keep all BLAS threads. joblib's backend "multiprocessing" starts
    its processes in the same way."""
    work_of(name)

    def run():
        with multiprocessing.get_context("fork").Pool(2) as pool:
            pool.map(run_once, [name] * COPIES, chunksize=1)

    return run


WAYS = {way.__name__: way for way in (alone, threads, joblib, fork)}


def mean_seconds(run, least):
    """The mean seconds of one repetition, of as many as take `least` seconds together."""
    repetitions, start = 0, time.perf_counter()
    while repetitions == 0 or time.perf_counter() - start < least:
        run()
        repetitions += 1
    return (time.perf_counter() - start) / repetitions


def main():
    name, way, least = sys.argv[1:]
    run = WAYS[way](name)
    print("ready", flush=True)
    if not sys.stdin.readline():
        return  # the benchmark has ended
    mean_seconds(run, WARM_UP)
    print(mean_seconds(run, float(least)), flush=True)


if __name__ == "__main__":
    main()
