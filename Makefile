# make demo   builds and shows the main job
# make test   builds and runs every test
# make bench  measures against NumPy, BLIS and OpenBLAS;  make lint  checks style and types;  make wheel  builds a wheel
# Everything is installed into .venv; Debian packages are installed only where they are missing and root is there.

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
SOURCES := $(shell find csrc cmake hetsched/_engine -type f \( -name '*.[ch]' -o -name '*.in' -o -name 'CMakeLists.txt' -o -name '*.cmake' -o -name 'emit_wrapper.py' \))
export PIP_DISABLE_PIP_VERSION_CHECK = 1

.PHONY: demo test ctest pytest bench lint wheel clean system

demo: $(VENV)/installed-demo
	$(BIN)/hetsched demo -o demo

test: ctest pytest

pytest: $(VENV)/installed-test
	$(BIN)/python -m pytest -q

# The engine alone: with address and undefined-behaviour sanitizers, then with the thread sanitizer.
ctest: $(VENV)/installed-test
	@for kind in address,undefined thread; do \
	  dir=build/ctest-$${kind%%,*}; \
	  $(BIN)/cmake -S . -B $$dir -DHETSCHED_TESTS=ON -DHETSCHED_SANITIZE=$$kind -DHETSCHED_BLIS=OFF -DCMAKE_BUILD_TYPE=RelWithDebInfo >$$dir.log 2>&1 && \
	  $(BIN)/cmake --build $$dir -j2 >>$$dir.log 2>&1 || { tail -40 $$dir.log; exit 1; }; \
	  $(BIN)/ctest --test-dir $$dir --output-on-failure || exit 1; \
	done

bench: $(VENV)/installed-test
	$(BIN)/python benchmarks/bench_matmul.py
	$(BIN)/python benchmarks/bench_lu.py
	$(BIN)/python benchmarks/bench_emulation.py
	$(BIN)/python benchmarks/bench_profile.py
	$(BIN)/python benchmarks/bench_wavefront.py
	$(BIN)/python benchmarks/bench_stencil.py
	$(BIN)/python benchmarks/bench_star.py
	$(BIN)/python benchmarks/bench_star_run.py
	$(BIN)/python benchmarks/bench_partition.py
	$(BIN)/python benchmarks/bench_ring.py
	$(BIN)/python benchmarks/bench_mesh.py
	$(BIN)/python benchmarks/bench_tasks.py
	$(BIN)/python benchmarks/bench_layers.py

lint: $(VENV)/installed-test
	$(BIN)/ruff check hetsched tests benchmarks examples
	$(BIN)/ruff format --check hetsched tests benchmarks examples
	$(BIN)/mypy

wheel: $(VENV)/installed-demo
	$(BIN)/pip wheel -q --no-deps -w dist .

clean:
	rm -rf build dist demo $(VENV)

# An editable install: Python changes need nothing, C changes a new make.
$(VENV)/installed-%: pyproject.toml CMakeLists.txt $(SOURCES) | $(BIN)/python
	$(BIN)/pip install -q -e '.[$*]'
	@mkdir -p build
	@touch $@

$(BIN)/python: | system
	$(PYTHON) -m venv $(VENV)

# What Debian has to give: a C compiler, Python's headers and venv, and BLIS. Only the first three are needed.
system:
	@sh tools/system-packages.sh $(PYTHON)
