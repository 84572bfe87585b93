# `make demo` shows the product at work; `make test` proves it. Both install what they need (scripts/setup).

.DEFAULT_GOAL := help
.PHONY: help demo test check fmt clippy doc sqlx bench simulate model mutants

help: ## What there is to make
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/  make \1\t\2/' | expand -t 16

demo: ## Three replicas, a day's reconciliation, a leader frozen in the middle of it
	@scripts/setup demo
	cargo build --locked
	target=$${CARGO_TARGET_DIR:-target}; "$$target/debug/counterfoil" demo $(DEMO)

test: ## Every test, on real Redis, Postgres and promtool
	@scripts/setup test
	cargo test --locked --no-fail-fast

check: fmt clippy doc sqlx-check ## Format, lints, documentation, queries: what CI checks beside the tests

fmt:
	cargo fmt --check

clippy:
	cargo clippy --locked --all-targets -- -D warnings

# The documentation is read with its private parts, so a link to one leads somewhere.
doc:
	RUSTDOCFLAGS="-D warnings -A rustdoc::private_intra_doc_links" cargo doc --locked --no-deps --document-private-items

.PHONY: sqlx-check
sqlx-check:
	@scripts/setup test
	scripts/sqlx-prepare --check

sqlx: ## Renew .sqlx after a query or a migration changed
	@scripts/setup test
	scripts/sqlx-prepare

.PHONY: chaos
chaos: ## A storm of faults over real replicas and servers, and a judge: SECONDS=60 SEED=…
	@scripts/setup test
	COUNTERFOIL_CHAOS_SECONDS=$(or $(SECONDS),60) $(if $(SEED),COUNTERFOIL_CHAOS_SEED=$(SEED)) cargo test --locked --test chaos -- --nocapture

bench: ## Measure, and renew docs/performance.md
	@scripts/setup test
	scripts/bench

# Built in a profile of its own, optimised without the release's long link.
simulate: ## More seeds of the election's simulation (SEEDS=…), or the history of one (SEED=…)
	COUNTERFOIL_SIM_SEEDS=$(or $(SEEDS),100000) COUNTERFOIL_SIM_SEED=$(SEED) \
		cargo test --locked --profile simulate --test simulation -- --nocapture whatever_goes_wrong

model: ## The election's model at its larger sizes: some minutes, some gigabytes
	COUNTERFOIL_MODEL=large cargo test --locked --profile simulate --lib -- --nocapture elector::model

mutants: ## Breaks the product on purpose, one way at a time: a check must go red (MUTANTS="no_floor …")
	@scripts/setup test
	scripts/mutants $(MUTANTS)
