# `make help` lists the targets. Everything here runs as root and as an ordinary user; nothing starts a service.

SHELL := /bin/bash
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

DESTDIR ?=
PREFIX ?= /usr/local
BINDIR = $(PREFIX)/bin
LIBEXECDIR = $(PREFIX)/lib/chatauth
MANDIR = $(PREFIX)/share/man
SYSCONFDIR ?= /etc
UNITDIR ?= $(PREFIX)/lib/systemd/system
USERUNITDIR ?= $(PREFIX)/lib/systemd/user

# A crash report of Swift prints memory, which may hold a secret.
export SWIFT_BACKTRACE = enable=no

JOBS ?= $(shell nproc)
SWIFT_BUILD = swift build --jobs $(JOBS) --explicit-target-dependency-import-check error
RELEASE = $(SWIFT_BUILD) --configuration release
RELEASE_BIN = .build/release

export DESTDIR PREFIX BINDIR LIBEXECDIR MANDIR SYSCONFDIR UNITDIR USERUNITDIR RELEASE_BIN

.PHONY: help deps build release check fmt unit unit-debug unit-release e2e test test-providers test-systemd sanitize fuzz bench \
	chaos-kill chaos-power chaos-rotation chaos-inject install uninstall demo clean

help: ## print this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

deps: ## install the Debian packages that are missing (silent when none is)
	@scripts/install-deps

build: deps ## build everything for debugging
	$(SWIFT_BUILD)

release: deps ## build the programs that are installed
	$(RELEASE)

check: deps ## format, layers, words, documentation, links, shell scripts, units, man pages
	@scripts/check

fmt: ## format the Swift sources in place
	swift format --in-place --recursive --parallel Package.swift Sources $(wildcard Tests Fuzz)

unit: unit-debug unit-release ## run the Swift tests, for debugging and for release

unit-debug: deps
	swift test --jobs $(JOBS)

# `swift test` alone would compile every module anew, for tests that look into modules; none here does.
unit-release: deps
	$(RELEASE) --build-tests
	swift test --skip-build --configuration release

e2e: release ## run the real programs against each other and the stand-in platforms
	@scripts/test-e2e

test: deps ## everything that must pass: check, unit tests, end-to-end tests, short chaos
	@scripts/test-all $(if $(TEST_LOG),--log "$(TEST_LOG)")

test-systemd: release ## boot a real systemd in a container and run the installed units in it (needs root)
	@scripts/test-systemd

sanitize: deps ## run the Swift tests under the thread and the address sanitizer
	swift test --jobs $(JOBS) --sanitize=thread --scratch-path .build-thread
	ASAN_OPTIONS=detect_leaks=0 swift test --jobs $(JOBS) --sanitize=address --scratch-path .build-address

test-providers: release ## run the tests against real identity providers, which are installed if missing
	@scripts/test-providers

fuzz: deps ## feed the parsers random input for a while (SECONDS_EACH=60)
	@scripts/fuzz $(or $(SECONDS_EACH),60)

bench: release ## measure against C programs on this machine and compare with Benchmarks/thresholds.json
	@Benchmarks/run

chaos-kill: release ## kill the daemon 200 times and look for lost credentials, with a control that must lose some
	@scripts/chaos/kill-loop --kills 200 --control

chaos-power: release ## cut the power 300 times by replay and look for lost credentials, with a control
	@scripts/chaos/power --images 300 --control

chaos-rotation: release ## break off the spending of grants 300 times against a real provider, and look for one that was lost
	@scripts/chaos/rotation --cycles 300

chaos-inject: release ## make one system call after another fail in the running daemon
	@scripts/chaos/inject

install: ## install what `make release` built (DESTDIR, PREFIX)
	@scripts/install

uninstall: ## remove what `make install` installed; configuration and stores stay
	@scripts/install --remove

demo: deps ## show the broker at work with a local stand-in; PLATFORM=kindly, chatbase or socialplus: with that platform
	@scripts/demo

clean: ## remove everything that was built
	rm -rf .build .build-* Benchmarks/build
