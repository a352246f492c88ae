# `make help` lists what there is. Everything is installed into .venv; nothing outside the checkout and the cache changes.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PYTHONS ?= 3.11 3.12 3.13 3.14
COMPILE := UV_CUSTOM_COMPILE_COMMAND="make lock" $(BIN)/uv pip compile --quiet --universal --generate-hashes --no-emit-index-url $(LOCK)
INSTALL := -m pip install --quiet --disable-pip-version-check --no-compile
# Its tests wait for other processes more than they compute, so there are more of them than cores. Files keep their order,
# in which the slowest are first: by itself xdist takes those first that have the most tests.
WORKERS = -n $(shell echo $$(( $$(nproc 2>/dev/null || echo 2) + 1 ))) --maxprocesses 4
CLUSTER_WORKERS = $(WORKERS) --dist loadfile --no-loadscope-reorder
# Where the tests ask for every check and remediation that there is; the other ones pass or fail without the examples.
ASKS_FOR_ALL := $(addprefix tests/unit/,dashboards demo deploy exporter/checks exporter/findings exporter/metrics exporter/rules \
  exporter/counts project reconcile/decide reconcile/permissions reconcile/plan)
PARTS := etcd kube-apiserver kubectl prometheus promtool alertmanager amtool pint helm jsonnet
LONG_PARTS := kube-controller-manager krew validate-krew-manifest operator-verify oauth2-proxy
EPOCH = $${SOURCE_DATE_EPOCH:-$$(git log -1 --format=%ct)}

# Whoever sets it has each process compile all that it imports: half of its start.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo check lint types contracts texts test parts real-parts test-unit test-cluster test-long test-python test-rules test-reference test-kubevirt test-networks test-repairs test-runbooks test-pages test-alerts test-deploy test-thanos \
  test-examples fuzz mutants tiers generate artifacts verify lock audit sbom wheel krew image test-image site clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(VENV)/.run ## a sample fleet to look at, on http://localhost:9877
	@$(BIN)/steward demo

check: lint types contracts verify test ## what CI runs

lint: $(VENV)/.dev ## ruff, and no line that a merge left behind
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python -m tests.tools.conflicts

types: $(VENV)/.dev ## mypy --strict
	$(BIN)/mypy

texts: $(VENV)/.dev ## what users read, held to the style by Vale, page by page; WRITE=1 lowers what is allowed; not part of check
	$(BIN)/python -m tests.tools.build vale
	$(BIN)/pytest -q tests/style
	$(BIN)/python -m tests.style $(if $(WRITE),--write)

contracts: $(VENV)/.dev ## which package may import which
	$(BIN)/lint-imports

verify: $(VENV)/.dev ## generated files and locks are up to date
	$(BIN)/python -m docs.generator --verify
	$(BIN)/python -m release.licences --verify
	$(BIN)/python -m release.locks

ifdef ROOM
test: $(VENV)/.dev
	@test -d "tests/unit/$(ROOM)" || { echo "make test: no tests in tests/unit/$(ROOM); there are:" >&2; \
	  (cd tests/unit && find . -name 'test_*.py' -printf '%h\n' | sort -u | cut -c3-) >&2; exit 2; }
	$(BIN)/pytest tests/unit/$(ROOM)
else
test: real-parts test-unit test-cluster ## all tests; builds the real parts (etcd, kube-apiserver, Prometheus) on first use; KUBERNETES=1.33 to 1.36; CRDS=loose; ROOM=reconcile/ledger runs what concerns a room
endif

real-parts: $(VENV)/.dev
	@echo "make test: without the real parts in the cache it first builds them, a quarter of an hour on two cores"
	$(BIN)/python -m tests.tools.build $(PARTS)
	$(BIN)/python -m tests.tools.crds

test-cluster: real-parts ## the tests with the real parts; KUBERNETES=1.33 to 1.36
	$(BIN)/pytest $(CLUSTER_WORKERS) -m "not long" tests/cluster

parts: ## builds the programs that test and test-long need, where the cache has none; needs nothing but Go
	$(PYTHON) -m tests.tools.build $(PARTS) $(LONG_PARTS)

test-unit: $(VENV)/.dev ## the tests that need no built binaries, but for long ones
	$(BIN)/pytest -n auto -m "not long" tests/unit

test-long: $(VENV)/.dev ## what takes long and rarely changes: crowds, every repair, runbooks, the examples of docs/ in place with the tests that ask for all there is; CI runs it too
	ROUNDS=all $(BIN)/pytest -n auto -m "(long or drawn) and not tier" tests/unit
	$(BIN)/python -m tests.tools.build $(LONG_PARTS)
	$(BIN)/pytest $(CLUSTER_WORKERS) -m "long and not tier" tests/cluster
	PYTEST_ADDOPTS='-m "not long"' $(BIN)/python -m tests.tools.examples $(ASKS_FOR_ALL)

test-reference: $(VENV)/.dev ## the tests that need the reference data beside the repository, which has to be there; CI runs all others without it
	@$(BIN)/python -m tests.shared
	$(BIN)/pytest -m reference $$(grep -rlE '^(@|pytestmark = )reference\(' tests)

test-python: $(PYTHONS:%=build/py%/.dev) ## the tests of test-unit on several Pythons; PYTHONS="3.11 3.12 3.13 3.14"
	for version in $(PYTHONS); do build/py$$version/bin/pytest -n auto -m "not long" tests/unit || exit 1; done

test-rules: $(VENV)/.dev ## the alert rules, with promtool
	$(BIN)/pytest tests/cluster/test_rules.py

test-kubevirt: $(VENV)/.dev ## against KubeVirt's own control plane, KUBEVIRT=1.5.0, 1.6.0 or 1.7.0; as root or in a user namespace; not part of check
	@echo "make test-kubevirt: without KubeVirt and Kubernetes in the cache it first builds them, 10 minutes on two cores"
	$(BIN)/python -m tests.tools.build etcd kube-apiserver kubectl kube-controller-manager \
	  virt-operator virt-api virt-controller resource-generator
	$(BIN)/pytest $(CLUSTER_WORKERS) tests/kubevirt

test-networks: $(VENV)/.dev ## against the networks' own controllers, STEWARD_OVNKUBE=… STEWARD_IPAM_CONTROLLER=… (CONTRIBUTING.md); as root or in a user namespace; not part of check
	@echo "make test-networks: 20 minutes on two cores; without the two programs every test is skipped, and says which is missing"
	$(BIN)/python -m tests.tools.build etcd kube-apiserver kube-controller-manager
	$(BIN)/pytest tests/networks

test-repairs: $(VENV)/.dev ## repairs that are killed at every step, replicas, storms: a quarter of an hour; not part of check
	REPAIRS=all $(BIN)/pytest $(WORKERS) tests/cluster/test_repair_crashes.py tests/cluster/test_repair_replicas.py \
	  tests/cluster/test_repair_unanswered.py \
	  tests/cluster/test_repair_storms.py

test-runbooks: $(VENV)/.dev ## every runbook followed for every reason: ten minutes; test-long follows one for each sort of command
	RUNBOOKS=all $(BIN)/pytest -n auto tests/cluster/test_runbooks.py

test-pages: $(VENV)/.dev ## every page of every sort of fleet in Chromium, at three widths, light and dark, with axe-core: five minutes; not part of check
	PAGES=all $(BIN)/pytest tests/cluster/test_page_fleets.py

test-alerts: $(VENV)/.dev ## rules and notifications over hours, and what outages make of them, with Prometheus and Alertmanager: ten minutes; not part of check
	$(BIN)/pytest $(CLUSTER_WORKERS) -m tier tests/cluster/test_rules.py tests/cluster/test_notifications.py \
	  tests/cluster/test_pager.py

test-deploy: $(VENV)/.dev ## every variant of the installation, installed and removed again: ten minutes; not part of check, which takes one of each way
	$(BIN)/python -m tests.tools.build kube-controller-manager
	$(BIN)/pytest $(CLUSTER_WORKERS) -m tier tests/cluster/test_deploy_removal.py

test-thanos: $(VENV)/.dev ## a ruler of Thanos over two clusters, as docs/clusters.md has it; builds Thanos on first use, five minutes; not part of check
	CLUSTERS=all $(BIN)/pytest tests/cluster/test_clusters.py -k thanos

test-examples: $(VENV)/.dev ## the check and the remediation of docs/example_*, copied into place: everything passes; half an hour; not part of check
	$(BIN)/python -m tests.tools.examples $(EXAMPLES)

fuzz: $(VENV)/.dev ## every shape of every object of every case, every crowd and interleaving, where test-long takes some; not part of check
	FUZZ=all $(BIN)/pytest -n auto tests/unit/exporter/checks/test_any_shape.py tests/unit/exporter/engine/test_engine_scenes.py tests/unit/exporter/engine/test_loop_goes_on.py \
	  tests/unit/exporter/engine/test_long_turns.py tests/unit/reconcile/carry_out/test_interleavings.py tests/unit/reconcile/carry_out/test_canary_interleavings.py

mutants: $(VENV)/.dev ## whether the tests notice changes of the core; MUTANTS="--sample 120 --seed 1"; not part of check
	$(BIN)/python -m tests.tools.mutants $(MUTANTS)

tiers: $(VENV)/.dev ## what CI leaves out, where its paths changed since it last passed, and the records of that; TIERS="networks kubevirt" names some, TIERS=--table prints what is behind
	$(BIN)/python -m tests.tools.tiers $(TIERS)

generate: $(VENV)/.dev ## write the generated files again
	$(BIN)/python -m docs.generator.pages
	$(BIN)/python -m tests.tools.fields_read
	$(BIN)/python -m docs.generator
	$(BIN)/python -m release.licences

artifacts: $(VENV)/.dev ## what only an installer needs and git has a digest of: the mixin, dashboards of Perses, the bundle for OLM; build/artifacts, and an archive of each in dist
	rm -rf build/artifacts
	$(BIN)/python -m docs.generator --artifacts build/artifacts
	mkdir -p dist
	for each in $$(ls build/artifacts); do tar --sort=name --owner=0 --group=0 --mtime="@$(EPOCH)" -czf "dist/$$each-$$(sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml).tar.gz" \
	  -C build/artifacts "$$each" || exit 1; done

lock: $(VENV)/.dev ## write the locks again after a change of pyproject.toml; LOCK=--upgrade takes the newest versions
	$(COMPILE) --output-file requirements.lock pyproject.toml
	$(COMPILE) --output-file requirements-build.lock --group build
	$(COMPILE) --output-file requirements-dev.lock --constraints requirements.lock --constraints requirements-build.lock \
	  --extra dev --group build pyproject.toml
	$(COMPILE) --output-file requirements-site.lock --group site

audit: $(VENV)/.dev ## whether a locked package has a known vulnerability; asks the package index, AUDIT="-s osv" asks OSV
	$(BIN)/pip-audit --strict --disable-pip --require-hashes $(AUDIT) -r requirements-dev.lock

sbom: $(VENV)/.dev ## dist/kubevirt-steward-VERSION.cdx.json: the product's packages, as CycloneDX
	SOURCE_DATE_EPOCH=$(EPOCH) $(BIN)/python -m release.sbom

wheel: $(VENV)/.dev ## wheel and source archive in dist; the same commit gives the same bytes
	SOURCE_DATE_EPOCH=$(EPOCH) $(BIN)/python -m hatchling build -d dist

krew: wheel ## dist/kubectl-steward-VERSION.tar.gz, and its manifest dist/steward.yaml: the plugin of kubectl, for krew
	SOURCE_DATE_EPOCH=$(EPOCH) $(BIN)/python -m release.krew

image: wheel ## the container image, dist/kubevirt-steward.oci.tar; PUSH=REGISTRY/kubevirt-steward pushes it; with an engine: IMAGE="--base … --build-base …" (docs/image.md)
	SOURCE_DATE_EPOCH=$(EPOCH) $(BIN)/python -m image.build $(if $(PUSH),--push $(PUSH)) $(IMAGE)

test-image: $(VENV)/.dev ## the image of `make image`, run as the manifests say; as root, with crun and umoci; not part of check
	$(BIN)/python -m tests.tools.build etcd kube-apiserver kubectl registry
	$(BIN)/pytest tests/image

site: $(VENV)/.dev build/site-tools/.made ## docs/, README and runbooks as a site, build/site; no page and no anchor that a link misses
	$(BIN)/python -m docs.generator.site build/site-source
	NO_MKDOCS_2_WARNING=1 build/site-tools/bin/mkdocs build --quiet --strict --config-file docs/site.yaml --site-dir ../build/site

clean: ## remove .venv, build, dist and caches of the checkout
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
	  { echo "make: Python 3.11 or newer is needed as $(PYTHON); name another one with PYTHON=python3.11" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
	  { echo "make: $(PYTHON) has no venv module; on Debian install the package python3-venv" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV)
	@touch $@

# Byte code is made as modules are imported: compiling all of the Kubernetes client takes longer than everything else.
$(VENV)/.run: pyproject.toml requirements.lock requirements-build.lock | $(VENV)/.made
	@echo "installing the steward into $(VENV) …"
	@$(BIN)/python $(INSTALL) --require-hashes -r requirements.lock -r requirements-build.lock
	@$(BIN)/python $(INSTALL) --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/.dev: pyproject.toml requirements-dev.lock | $(VENV)/.made
	@echo "installing the steward and what its tests need into $(VENV) …"
	@$(BIN)/python $(INSTALL) --require-hashes -r requirements-dev.lock
	@$(BIN)/python $(INSTALL) --no-deps --no-build-isolation -e .
	@touch $@ $(VENV)/.run

build/site-tools/.made: requirements-site.lock | $(VENV)/.made
	@echo "installing what builds the site into build/site-tools …"
	@$(VENV)/bin/python -m venv build/site-tools
	@build/site-tools/bin/python $(INSTALL) --require-hashes -r requirements-site.lock
	@touch $@

build/py%/.dev: pyproject.toml requirements-dev.lock
	@python$* -c 'import ensurepip, venv' 2>/dev/null || \
	  { echo "make: no python$* with venv on PATH; install Python $*, or leave it out of PYTHONS" >&2; exit 1; }
	@echo "installing the steward and what its tests need into build/py$* …"
	@python$* -m venv build/py$*
	@build/py$*/bin/python $(INSTALL) --require-hashes -r requirements-dev.lock
	@build/py$*/bin/python $(INSTALL) --no-deps --no-build-isolation -e .
	@touch $@
