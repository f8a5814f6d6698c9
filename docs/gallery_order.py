"""The gallery in teaching order: its folders, and the examples of each."""

ORDER = {
    "shares": ["plot_equal_split", "plot_certificate", "plot_other_speeds", "plot_wavefront"],
    "zones": [
        "plot_partitions",
        "plot_partition_bound",
        "plot_profiles",
        "plot_clusters",
        "plot_dynamic",
    ],
    "stars": [
        "plot_star_selection",
        "plot_star_memory",
        "plot_star_lu",
        "plot_layers_modes",
        "plot_layers_mesh",
    ],
    "rings": ["plot_ring_slices", "plot_ring_selection", "plot_stencil", "plot_rebalance"],
    "tasks": ["plot_task_order", "plot_bus_bound", "plot_divisible", "plot_assignment"],
    "factorisations": ["plot_lu_pattern", "plot_lu_trace", "plot_lu_grid", "plot_reduction"],
    "machine": ["plot_emulated_run", "plot_this_machine"],
}


class TeachingOrder:
    """Sort key of sphinx-gallery within a folder. An example that is not listed comes last."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __call__(self, name: str) -> tuple[int, str]:
        listed = [f"{stem}.py" for stems in ORDER.values() for stem in stems]
        return listed.index(name) if name in listed else len(listed), name

    def __repr__(self) -> str:
        return "TeachingOrder"
