# make demo   builds and shows the main job
# make test   builds, and runs the tests with few inputs: about eight minutes on two cores
# make races   runs the tests in C with the thread sanitizer, as make test does not: two minutes
# make test-all   runs all tests with all inputs, then those in Python with each of PYTHONS: hours
# make ctest   runs the tests in C with both sanitizers;  make pytest  those in Python;
#   make pytest-address  a part of them in an engine with sanitizers: each with all inputs
# make test-python PYTHON=/usr/bin/python3  runs the tests in Python with another Python, in an environment of its own
# make fuzz   makes hostile calls of every public function for SECONDS seconds
# make coverage  measures what all tests reach of csrc: docs/coverage.md; not part of make test
# make cfuzz  looks for inputs of the engine in C that go wrong, each harness for SECONDS seconds (libFuzzer; needs clang)
# make bench  measures against NumPy, BLIS and OpenBLAS;  make peers  runs peers' own tests
# make docs   builds the site: build/docs/index.html
# make lint   checks style, types and what clang-tidy looks for in C;  make wheel  builds a wheel with BLIS;  make test-wheel  tests it
# Everything is installed into .venv; Debian packages are installed only where they are missing and root is there.

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
CTESTS := build/ctest-address build/ctest-thread
SOURCES := $(shell find csrc cmake hetsched/_engine -type f \( -name '*.[ch]' -o -name '*.in' -o -name 'CMakeLists.txt' -o -name '*.cmake' -o -name 'emit_wrapper.py' \))
# An editable install knows the modules that were there: others, another stamp.
MODULES := $(VENV)/modules-$(shell find hetsched -name '*.py' | LC_ALL=C sort | cksum | cut -d' ' -f1)
export PIP_DISABLE_PIP_VERSION_CHECK = 1
# Most modules of these packages are never imported: to compile all takes half of the installation.
# pip takes a false value as "yes" for an option whose name begins with "no".
export PIP_NO_COMPILE = no
# For commands that are silent for more than ten seconds.
ELAPSED := exec $(PYTHON) tools/elapsed.py

.PHONY: demo test races test-python test-all newest ctest pytest pytest-address coverage fuzz cfuzz bench peers docs lint wheel test-wheel clean system test-system $(CTESTS) $(CTESTS:build/%=run-%)

demo: $(VENV)/installed-demo
	$(BIN)/hetsched demo -o demo

# HS_TEST_FEW: fewer inputs in C (csrc/tests/check.h, csrc/fuzz/standalone.c) and in Python
# (tests/inputs.py), and no test that is marked as slow. docs/testing.md says what is left to
# test-all.
# Two jobs: the tests in Python run while the sanitized engine is built and tested, as tests wait
# for much of their time. This build is nice, so that the tests begin early.
test:
	@HS_TEST_FEW=1 $(MAKE) --no-print-directory -j2 pytest run-ctest-address

# For a change in threads/, or in what workers do at the same time.
races:
	@HS_TEST_FEW=1 $(MAKE) --no-print-directory run-ctest-thread

NOT_SLOW := $(if $(HS_TEST_FEW),-m "not slow")
TESTED   := $(VENV)/installed-test$(if $(HS_TEST_FEW),,-all)

# Tests have limits of their own; this one, of a whole run, is for what waits between them. Macs have no timeout.
LIMIT ?= 1h
LIMITED := $(shell command -v timeout >/dev/null && echo timeout --verbose --foreground --signal=INT --kill-after=60 $(LIMIT))

# Three processes for two cores, file by file in the order of tests/conftest.py: much of a test is
# waiting, and none needs the machine for itself. A make that a test starts has jobs of its own.
pytest: $(TESTED)
	MAKEFLAGS= $(LIMITED) $(BIN)/python -m pytest -q -n 3 --dist loadfile --no-loadscope-reorder $(NOT_SLOW)

# The tests in Python with another Python: the one of the system, where a newer one comes first in the path.
TARGET ?= pytest
test-python:
	@$(MAKE) --no-print-directory $(TARGET) VENV=.venv-$$($(PYTHON) -c 'import platform; print(platform.python_version())')

# Part by part, with the time of each. The Pythons are names or paths; one that is not there is
# named and left out.
PYTHONS ?= python3.11 python3.12 python3.13
test-all:
	@sh tools/test-all.sh "$(MAKE)" $(PYTHONS)

# The newest packages that pip finds, of the tests and of what they need, in an environment that may have older ones.
newest: $(VENV)/installed-test-all
	$(BIN)/pip install -q --upgrade --upgrade-strategy eager -e '.[test-all]'
	@$(BIN)/python -V
	@$(BIN)/pip list --format=freeze | grep -E '^(numpy|scipy|scikit-learn|pandas|h5py|joblib)=='

# The engine alone: with address and undefined-behaviour sanitizers, then with the thread sanitizer.
# With few inputs less freed memory is kept for the address sanitizer, whose default takes a tenth of
# the time.
ctest: $(CTESTS:build/%=run-%)
$(CTESTS:build/%=run-%): run-%: build/%
	@$(ELAPSED) "running the tests in C ($(*:ctest-%=%))" "$(if $(HS_TEST_FEW),one to five minutes,half an hour)" sh -c ' \
	  $(if $(HS_TEST_FEW),ASAN_OPTIONS=quarantine_size_mb=16) $(LIMITED) $(BIN)/ctest --test-dir $< -j3 --no-tests=error --output-on-failure >$<-tests.log 2>&1 || { cat $<-tests.log; exit 1; }; \
	  grep "tests passed" $<-tests.log'

build/ctest-address: SANITIZE = address,undefined
build/ctest-thread: SANITIZE = thread
$(CTESTS): $(BIN)/cmake
	@mkdir -p build
	@$(ELAPSED) "compiling the engine for its tests ($(SANITIZE))" "up to six minutes on two cores" sh -c ' \
	  { $(BIN)/cmake -S . -B $@ -DSKBUILD=OFF -DHETSCHED_TESTS=ON -DHETSCHED_SANITIZE=$(SANITIZE) -DHETSCHED_SLOW=$(if $(HS_TEST_FEW),OFF,ON) -DHETSCHED_BLIS=OFF -DCMAKE_BUILD_TYPE=RelWithDebInfo && \
	    nice $(BIN)/cmake --build $@ -j2; } >$@.log 2>&1 || { tail -40 $@.log; exit 1; }'

# The runners once more, chosen and fed by Python, in an engine with address and undefined-behaviour sanitizers: a report ends the
# process. Python itself is not instrumented; leaks are what the tests in C look for. Left out is what interrupts, starts programs (they
# have the usual engine) or says whether the host keeps up. The C++ library is there from the start for others' exceptions. The engine is
# that of the tests in C: their folder once more, with the extension.
SANITIZED := tests/dropin/test_dropin_lapack.py tests/dropin/test_dropin_products.py tests/runners/test_edges.py tests/files/test_plan_files.py \
             tests/runners/test_pool.py tests/planners/test_product_layers.py tests/runners/test_star_run.py tests/runners/test_stencil.py tests/runners/test_sweep.py
UNSANITIZED := interrupt or ctrl_c or process or killed or fork or docs or peak or plot or late or too_fast or host or rings_and_divisions

pytest-address: $(TESTED) build/ctest-address
	@{ $(BIN)/cmake -S . -B build/ctest-address -DSKBUILD=ON -DPython_EXECUTABLE="$(abspath $(BIN))/python" && \
	  $(BIN)/cmake --build build/ctest-address --target _hetsched hetsched_blas -j2; } >build/$@.log 2>&1 || { tail -40 build/$@.log; exit 1; }
	HETSCHED_EXTENSION="$$(echo $(CURDIR)/build/ctest-address/hetsched/_engine/_hetsched*.so)" PYTHONPATH=tests \
	LD_PRELOAD="$$($(CC) -print-file-name=libasan.so) $$($(CC) -print-file-name=libstdc++.so)" \
	ASAN_OPTIONS=detect_leaks=0:abort_on_error=1:allocator_may_return_null=1 UBSAN_OPTIONS=halt_on_error=1:abort_on_error=1:print_stacktrace=1 \
	$(LIMITED) $(BIN)/python -m pytest -p instrumented --capture=sys -q -n 2 --dist loadfile $(NOT_SLOW) -k "not ($(UNSANITIZED))" $(SANITIZED)

# Lines and branches of the engine that all tests reach together, those in C and those in Python: docs/coverage.md.
coverage: $(TESTED)
	$(BIN)/python tools/coverage.py

SECONDS ?= 60
SEED    ?= 1
fuzz: $(TESTED)
	$(BIN)/python tests/fuzz.py --seconds $(SECONDS) --seed $(SEED)

# What is found is in build/fuzz/found; "build/fuzz/csrc/fuzz/fuzz_x FILE" shows it again. The corpora are kept: the next run goes on.
cfuzz: $(BIN)/cmake
	@sh tools/system-packages.sh $(PYTHON) clang
	@mkdir -p build/fuzz/found
	@{ $(BIN)/cmake -S . -B build/fuzz -DHETSCHED_FUZZ=ON -DHETSCHED_BLIS=OFF -DCMAKE_C_COMPILER=clang -DCMAKE_BUILD_TYPE=RelWithDebInfo && \
	  $(BIN)/cmake --build build/fuzz -j2; } >build/fuzz.log 2>&1 || { tail -40 build/fuzz.log; exit 1; }
	@cd build/fuzz && for harness in csrc/fuzz/fuzz_*; do \
	  name=$$(basename $$harness); mkdir -p corpus/$$name; \
	  $$harness corpus/$$name -max_len=256 -timeout=20 -rss_limit_mb=4096 -max_total_time=$(SECONDS) -artifact_prefix=found/$$name- >$$name.log 2>&1 || \
	    { grep -v '^#' $$name.log | tail -40; exit 1; }; \
	  echo "$$name: $$(grep '^Done' $$name.log)"; \
	done

bench: $(TESTED)
	$(BIN)/python benchmarks/bench_matmul.py
	$(BIN)/python benchmarks/bench_small.py
	$(BIN)/python benchmarks/bench_stacks.py
	$(BIN)/python benchmarks/bench_thin.py
	$(BIN)/python benchmarks/bench_gram.py
	$(BIN)/python benchmarks/bench_domains.py
	$(BIN)/python benchmarks/bench_lu.py
	$(BIN)/python benchmarks/bench_dense.py
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

# The test suites of NumPy, SciPy and scikit-learn on hetsched's functions, and these, Octave's and R's with the drop-in library; for
# nights. Its counts go into docs/peers.md. WIDTHS: folders with more libraries, for tests/peers/widths.py.
WIDTHS ?=
peers: $(TESTED)
	nice $(BIN)/python tests/peers/run.py --write docs/peers.md
	nice $(BIN)/python tests/peers/octave_and_r.py --write docs/peers.md
	nice $(BIN)/python tests/peers/widths.py --in $(WIDTHS) --write docs/peers.md

# Warnings are errors. The gallery's examples are run, those of the pages are by make test; then the site is looked at in a browser.
docs: $(TESTED) $(VENV)/installed-docs build/reproduction/reproduction.html
	@rm -rf build/docs docs/api/generated docs/auto_gallery docs/notebooks
	$(BIN)/python -m sphinx -q -W --keep-going -b html -d build/doctrees docs build/docs
	$(BIN)/python -m pytest -q tests/project/test_site.py tests/project/test_api.py

# The papers' numbers again, on one page of the site: two minutes.
build/reproduction/reproduction.html: $(TESTED) $(wildcard hetsched/studies/*.py hetsched/planners/*.py)
	@mkdir -p $(@D)
	$(BIN)/hetsched reproduce -q all -o $@

PYTHON_FILES := hetsched tests benchmarks examples tools $(wildcard docs/*.py)
lint: $(VENV)/installed-lint
	$(BIN)/lint-imports
	$(BIN)/ruff check $(PYTHON_FILES) docs/gallery
	$(BIN)/ruff format --check $(PYTHON_FILES)
	$(BIN)/clang-format --dry-run -Werror $$(find csrc -name '*.[ch]')
	$(BIN)/mypy
	@$(BIN)/cmake -S . -B build/tidy -DSKBUILD=OFF -DHETSCHED_TESTS=ON -DHETSCHED_BLIS=OFF -DCMAKE_BUILD_TYPE=Debug \
	  -DCMAKE_EXPORT_COMPILE_COMMANDS=ON >build/tidy.log
	find csrc -name '*.c' | xargs -n 1 -P $$(getconf _NPROCESSORS_ONLN) $(BIN)/clang-tidy -p build/tidy --quiet 2>build/tidy.log || \
	  { grep -v ' generated\.$$' build/tidy.log; exit 1; }

# Into dist, with BLIS inside: docs/packaging.md. After it, every test that needs no compiler against the wheel in an environment of its own.
wheel:
	@tools/wheel.sh $(PYTHON) dist

test-wheel:
	@tools/test-wheel.sh "$$(ls -t dist/*.whl | head -n 1)" $(PYTHON)

clean:
	rm -rf build dist demo $(VENV) .venv-*

# An editable install: Python changes need nothing, C changes a new make.
$(VENV)/installed-%: pyproject.toml CMakeLists.txt $(SOURCES) $(MODULES) | $(BIN)/python
	@$(ELAPSED) "compiling the engine" "about two minutes on two cores, with the packages that pip installs" $(BIN)/pip install -q -e '.[$*]'
	@mkdir -p build
	@touch $@

$(MODULES): | $(BIN)/python
	@rm -f $(VENV)/modules-*
	@touch $@

# First, as the sanitized engines are built while the rest is installed.
$(VENV)/installed-test $(VENV)/installed-test-all $(VENV)/installed-lint: | $(BIN)/cmake test-system
$(BIN)/cmake: | $(BIN)/python
	@$(ELAPSED) "installing CMake" "a few seconds" $(BIN)/pip install -q cmake

$(BIN)/python: | system
	@$(ELAPSED) "making $(VENV)" "a few seconds" $(PYTHON) -m venv $(VENV)

# The BLAS's and LAPACK's own test programs, a compiler and an emulator of aarch64; without them their tests are skipped.
test-system: | $(BIN)/python
	@sh tools/system-packages.sh $(PYTHON) tests

# What Debian has to give: a C compiler, Python's headers and venv, and BLIS. Only the first three are needed.
system:
	@sh tools/system-packages.sh $(PYTHON)
