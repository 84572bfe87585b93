# syntax=docker/dockerfile:1
# One small image: the binary on distroless, which is a C library and certificates. No shell, no package manager, no root.

FROM rust:1.95-slim-bookworm AS build
WORKDIR /src
COPY . .
# The commit, for counterfoil_build_info and the label below.
ARG REVISION=unknown
ENV COUNTERFOIL_REVISION=${REVISION} SQLX_OFFLINE=true
# The caches outlive a build: a change of ours compiles ours alone. What leaves them is copied out in the same step.
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/src/target,sharing=locked \
    cargo build --release --locked --bin counterfoil \
    && install -D target/release/counterfoil /image/usr/local/bin/counterfoil \
    && install -d -o 65532 -g 65532 /image/var/lib/counterfoil/inbox /image/var/lib/counterfoil/outbox \
    && install -d /image/etc/counterfoil

FROM gcr.io/distroless/cc-debian12:nonroot
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Counterfoil" \
      org.opencontainers.image.description="The daily bank-reconciliation worker" \
      org.opencontainers.image.licenses="MIT OR Apache-2.0" \
      org.opencontainers.image.revision="${REVISION}"
COPY --from=build /image/ /
# By number, so that runAsNonRoot can be checked without reading the image's user list.
USER 65532:65532
# counterfoil.toml is looked for where the process starts: worker, healthcheck and `exec` read the same one.
WORKDIR /etc/counterfoil
EXPOSE 9464
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=10s --retries=3 \
    CMD ["/usr/local/bin/counterfoil", "healthcheck"]
ENTRYPOINT ["/usr/local/bin/counterfoil"]
CMD ["worker"]
