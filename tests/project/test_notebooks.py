"""Each notebook runs from top to bottom in this interpreter without warnings, and gives the outputs
that are stored in it.

`python tests/project/test_notebooks.py [name ...]` runs notebooks and stores their outputs. Look at
the outputs before you commit them.
"""

import os
import re
import sys
from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat")

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))
NEEDS = {"layers": ("highspy",), "study": ("pandas",)}  # of a notebook, beyond what all have
WARNING = re.compile(r"\b(\w*Warning)\b")
ABSOLUTE = re.compile(
    r"(?<![\w.~])/(?:home|root|tmp|usr|var|opt|mnt|work|Users|private)/|\b[A-Z]:\\\\"
)
LARGEST = 400_000
WIDEST = 88  # columns that a box of code has on the site
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def kernel_manager_class():
    """Of managers whose kernel is this interpreter, whatever kernels are installed for the user."""
    from jupyter_client.kernelspec import KernelSpec
    from jupyter_client.manager import AsyncKernelManager

    class ThisInterpreter(AsyncKernelManager):
        @property
        def kernel_spec(self):
            argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
            return KernelSpec(argv=argv, display_name=self.kernel_name, language="python")

    return ThisInterpreter


def executed(path, work):
    """The notebook with the outputs of a run in the folder `work`."""
    import nbclient

    notebook = nbformat.read(path, as_version=4)
    client = nbclient.NotebookClient(
        notebook,
        timeout=300,
        kernel_name="python3",
        kernel_manager_class=kernel_manager_class(),
        record_timing=False,
        coalesce_streams=True,
        resources={"metadata": {"path": str(work)}},
    )
    client.execute()  # raises CellExecutionError, with the cell and its traceback
    return notebook


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def words(output):
    """What an output says: all of it but pictures in bytes."""
    if output.output_type == "stream":
        return output.text
    return "\n".join(text for kind, text in output.get("data", {}).items() if kind != "image/png")


def test_there_are_notebooks():
    assert len(NOTEBOOKS) >= 9


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs(path, tmp_path, monkeypatch):
    for package in ("nbclient", "ipykernel", "sklearn", "matplotlib", *NEEDS.get(path.stem, ())):
        pytest.importorskip(package)
    # not the user's
    for name in ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    monkeypatch.delenv("MPLBACKEND", raising=False)  # the kernel sets its own
    work = tmp_path / "work"
    work.mkdir()
    notebook = executed(path, work)

    outputs = [output for cell in code_cells(notebook) for output in cell.outputs]
    said = "".join(
        output.text
        for output in outputs
        if output.output_type == "stream" and output.name == "stderr"
    )
    assert set(WARNING.findall(said)) <= {"EmulationWarning"}, said
    assert any("image/png" in output.get("data", {}) for output in outputs)
    assert os.listdir(work) == []

    # as many outputs as now, of the same kinds: nobody forgot to store it
    stored = nbformat.read(path, as_version=4)
    for now, then in zip(code_cells(notebook), code_cells(stored), strict=True):
        kinds = [
            [
                (output.output_type, *sorted(output.get("data", {})))
                for output in cell.outputs
                if output.get("name") != "stderr"
            ]
            for cell in (now, then)
        ]
        assert kinds[0] == kinds[1], f"the stored outputs are not those of this cell:\n{now.source}"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_is_stored_with_its_outputs(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert notebook.metadata == METADATA
    assert 8 <= len(notebook.cells) <= 40
    cells = code_cells(notebook)
    # in one run from the top
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    assert max(len(line) for cell in cells for line in cell.source.splitlines()) <= WIDEST
    outputs = [output for cell in cells for output in cell.outputs]
    assert outputs
    for output in outputs:
        assert output.output_type != "error"
        assert output.get("name") != "stderr", output.text
        assert not (found := ABSOLUTE.search(words(output))), words(output)[
            max(0, found.start() - 80) : found.end() + 80
        ]
    assert all(cell.metadata == {} for cell in notebook.cells)
    assert path.stat().st_size < LARGEST


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_links_of_notebook_lead_somewhere(path):
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "markdown":
            for target in re.findall(r"\]\(([^)#]+)[^)]*\)", cell.source):
                assert target.startswith("https://") or (path.parent / target).exists(), target


def store(path):
    """Run the notebook, and write it with what it said and drew, and nothing of this machine's
    folders or of the time."""
    import tempfile

    with tempfile.TemporaryDirectory() as work:
        notebook = executed(path, work)
    notebook.metadata = METADATA
    for number, cell in enumerate(notebook.cells):
        cell.metadata = {}
        cell.id = f"cell-{number}"
    nbformat.write(notebook, path)


if __name__ == "__main__":
    for each in NOTEBOOKS:
        if len(sys.argv) == 1 or each.stem in sys.argv[1:]:
            store(each)
            print(f"{each.name}: {each.stat().st_size} bytes")
