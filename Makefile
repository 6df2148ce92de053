# SPDX-License-Identifier: Apache-2.0
# A thin front for CMake; `make help` lists the words. Everything is made in build/.
BUILD := build
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
PREFIX ?= /usr/local
MAKEFLAGS += --no-print-directory

all: program

help:
	@echo "make          build the program at $(BUILD)/keybits"
	@echo "make demo     build, then show the main job on real photographs"
	@echo "make test     build and run the tests, the sanitizers too"
	@echo "make test-all the same, and the slow ones: the same bits on more processors, by emulation"
	@echo "make fuzz     search for inputs that break parsers and library (SECONDS=300 of the processor per target, NAMES=\"index ...\")"
	@echo "make lint     cppcheck and clang-tidy over the C of the project"
	@echo "make coverage lines of src/ that the unit tests run, by gcov"
	@echo "make bench    build, then time every step beside OpenCV's (IMAGES=folders of yours)"
	@echo "make results  run every benchmark on this machine, resume, write results/*.json and the tables made of them (SHORT=1: a look, MOST=seconds: without long ones)"
	@echo "make bench-instructions  count the instructions of every kernel and step on x86 and aarch64, by emulation"
	@echo "make bench-web  build the web package, then time a frame in chromium beside opencv.js's"
	@echo "make python   a wheel of the Python package in $(BUILD)/python"
	@echo "make wheels   its sdist and its wheels for Linux (x86-64, aarch64) and Windows, there"
	@echo "make web      the npm package and the pages, as a static folder $(BUILD)/web"
	@echo "make models   learn the built-in models again from ../shared/data/train (MODELS=\"bag256 ...\" for some)"
	@echo "make amalgamation  write the library as one file: $(BUILD)/amalgamation/keybits.c and keybits.h"
	@echo "make install  install the library and the program below PREFIX=$(PREFIX)"
	@echo "make uninstall  remove what make install wrote"
	@echo "make deb      a Debian package in $(BUILD)/"
	@echo "make release  everything of a release in dist/, the same bytes for the same commit"
	@echo "make clean    remove $(BUILD)/"
	@echo "make setup-list  what each of these would install, in megabytes too; nothing is installed"
	@echo "On Debian each installs the packages it misses, and says so; not with SETUP=no. JOBS=$(JOBS) processes at once."

export SETUP

program: configured
	@cmake --build $(BUILD) -j $(JOBS) --target keybits-cli

# All that is built: benches, examples, the Python package's library too.
everything: configured
	@cmake --build $(BUILD) -j $(JOBS)

configured:
	@scripts/setup build
	@cmake -S . -B $(BUILD) -DCMAKE_BUILD_TYPE=Release -DKEYBITS_BUILD_TESTS=OFF \
	    -DCMAKE_INSTALL_PREFIX=$(PREFIX) --log-level=WARNING

setup-list:
	@scripts/setup --list build learn bench test test-all lint python wheels web bench-web bench-instructions models release

demo: program
	@scripts/demo $(BUILD)

test:
	@scripts/setup build test
	@scripts/test $(BUILD) $(JOBS)

test-all:
	@scripts/setup build test test-all
	@scripts/test --all $(BUILD) $(JOBS)

lint:
	@scripts/setup build lint
	@scripts/lint $(BUILD) $(JOBS)

coverage:
	@scripts/setup build test
	@scripts/coverage $(BUILD) $(JOBS)

fuzz:
	@scripts/setup build test
	@scripts/fuzz $(BUILD) $(JOBS) $(or $(SECONDS),300) $(NAMES)

bench:
	@scripts/setup build bench
	@$(MAKE) --no-print-directory everything
	@scripts/bench $(BUILD) $(IMAGES)

results:
	@scripts/setup build bench
	@$(MAKE) --no-print-directory everything
	@cmake -B $(BUILD) -DKEYBITS_BUILD_TESTS=ON --log-level=WARNING && cmake --build $(BUILD) -j $(JOBS) --target test_refine \
	    >/dev/null 2>&1 || true # one benchmark is a test that prints its errors
	@scripts/web-build $(BUILD)/web || true # the row "web" is left out without clang for WebAssembly or chromium
	@scripts/results $(if $(SHORT),--short) $(if $(MOST),--most $(MOST)) $(BUILD) $(NAMES)
	@$(if $(SHORT),true,scripts/results-tables)

bench-instructions:
	@scripts/setup build bench-instructions
	@JOBS=$(JOBS) scripts/bench-instructions $(BUILD)

bench-web:
	@scripts/setup web bench-web
	@scripts/web-build $(BUILD)/web
	@scripts/bench-web $(BUILD)

python: program
	@scripts/setup python
	@cmake --build $(BUILD) --target python

wheels:
	@scripts/setup build python wheels
	@for what in sdist native linux-aarch64 windows-x86_64; do scripts/python-wheel $(BUILD)/python $$what || exit 1; done

web:
	@scripts/setup web
	@scripts/web-build $(BUILD)/web
	@echo "the pages:   python3 -m http.server --directory $(BUILD)/web 8000, then http://localhost:8000/"
	@echo "the package: npm install $(BUILD)/web/package"

models:
	@scripts/setup build bench models
	@$(MAKE) --no-print-directory everything
	@scripts/train-models $(BUILD) $(MODELS)

amalgamation:
	@scripts/setup amalgamation
	@cmake -S . -B $(BUILD) -DCMAKE_BUILD_TYPE=Release --log-level=WARNING
	@cmake --build $(BUILD) --target amalgamation

install: everything
	cmake --install $(BUILD)

uninstall:
	cmake --build $(BUILD) --target uninstall

deb: everything
	cd $(BUILD) && cpack -G DEB

release:
	@scripts/setup release
	@JOBS=$(JOBS) scripts/release dist

clean:
	rm -rf $(BUILD)

.PHONY: all help program demo test test-all fuzz lint coverage bench results bench-instructions bench-web python wheels web amalgamation models install uninstall deb release clean everything configured setup-list
