"""Calls of everything that has an argument `progress`."""

import numpy as np

import hetsched as hs

PLATFORM = hs.Platform.star([1.0, 2.0])
FAST = dict(emulate=True, time_scale=1.0)
ONES = np.ones((60, 60))


def square(x):
    return x * x


def pooled(run, **options):
    def call(told):
        with hs.Pool(PLATFORM if options else 2, **options) as pool:
            return run(pool, told)

    return call


def star(pool, told):
    platform = hs.Platform.star([0.002, 0.003], link_costs=[0.001, 0.002], memory=[12, 21])
    return pool.run(
        hs.plan_product(4, 8, 3, platform, budget=0),
        np.ones((64, 48)),
        np.ones((48, 128)),
        progress=told,
    )


def sweep(pool, told):
    steps = hs.Stencil([[np.inf, 1, np.inf], [1, 0, np.inf], [np.inf] * 3], "min")
    return pool.sweep(hs.wavefront(4, 4, [1, 1]), ONES, steps, progress=told)


CALLS = {
    "small": lambda f: hs.matmul(np.ones((3, 4)), np.ones((4, 5)), progress=f),
    "plain": lambda f: hs.matmul(np.ones((500, 500)), np.ones((500, 500)), progress=f),
    "integers": lambda f: hs.matmul(ONES.astype(int), ONES.astype(int), progress=f),
    "empty": lambda f: hs.matmul(np.ones((0, 4)), np.ones((4, 5)), progress=f),
    "stack": lambda f: hs.matmul(np.ones((5, 200, 200)), np.ones((200, 200)), progress=f),
    "columns": pooled(lambda pool, f: pool.matmul(ONES, ONES, method="columns", progress=f)),
    "traced": pooled(lambda pool, f: pool.matmul(ONES, ONES, trace=True, progress=f)),
    "planned stack": pooled(
        lambda pool, f: pool.matmul(np.ones((3, 60, 60)), ONES, method="rows", progress=f)
    ),
    "emulated": pooled(lambda pool, f: pool.matmul(ONES, ONES, progress=f), **FAST),
    "zones": pooled(
        lambda pool, f: pool.run(hs.partition([1, 1], shape=(60, 60)), ONES, ONES, progress=f)
    ),
    "star": pooled(star),
    "sweep": pooled(sweep),
    "stencil": pooled(lambda pool, f: pool.stencil(ONES, 50, progress=f)),
    "no step": pooled(lambda pool, f: pool.stencil(ONES, 0, progress=f)),
    "lu": pooled(lambda pool, f: pool.lu_factor(np.eye(300), progress=f)),
    "lu of nothing": pooled(lambda pool, f: pool.lu_factor(np.ones((0, 3)), progress=f)),
    "lu traced": pooled(lambda pool, f: pool.lu_factor(np.eye(30), trace=True, progress=f)),
    "tasks": lambda f: hs.map_tasks(square, range(5), 2, progress=f),
    "tasks on demand": pooled(
        lambda pool, f: pool.map_tasks(square, range(5), order="demand", progress=f)
    ),
    "no tasks": lambda f: hs.map_tasks(square, [], 2, progress=f),
    "files": lambda f: hs.matmul_files(ONES, ONES, np.empty((60, 60)), memory="8M", progress=f),
}
