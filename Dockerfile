# syntax=docker/dockerfile:1
# One static binary in an empty image. For this machine, or for both architectures:
#   docker build --tag dalsegno:0.1.0 .
#   docker buildx build --platform linux/amd64,linux/arm64 --tag REGISTRY/dalsegno:0.1.0 --push .
# The build stage always runs on the builder's own architecture and cross-compiles; nothing is emulated. tonistiigi/xx brings the other
# architecture's musl, so that the C parts (SQLite, ring, zstd, xz, mimalloc) see its headers: https://github.com/tonistiigi/xx

FROM --platform=$BUILDPLATFORM tonistiigi/xx:1.6.1 AS xx

FROM --platform=$BUILDPLATFORM rust:1.95-alpine AS build
COPY --from=xx / /
RUN apk add --no-cache clang lld make musl-dev perl ca-certificates
WORKDIR /src
COPY . .
ARG TARGETPLATFORM
RUN xx-apk add --no-cache musl-dev gcc
RUN xx-cargo build --locked --release --package dalsegno --target-dir /build \
 && xx-verify --static "/build/$(xx-cargo --print-target-triple)/release/dalsegno" \
 && mkdir -p /out/etc/ssl/certs /out/tmp /out/var/lib/dalsegno \
 && cp "/build/$(xx-cargo --print-target-triple)/release/dalsegno" /out/dalsegno \
 && ln -s dalsegno /out/kubectl-dalsegno \
 && cp /etc/ssl/certs/ca-certificates.crt /out/etc/ssl/certs/ca-certificates.crt \
 && printf 'dalsegno:x:65532:65532::/var/lib/dalsegno:/dalsegno\n' > /out/etc/passwd \
 && printf 'dalsegno:x:65532:\n' > /out/etc/group \
 && chmod 1777 /out/tmp \
 && chown -R 65532:65532 /out/var/lib/dalsegno

FROM scratch
COPY --from=build /out /
# Whoever looks for authorities finds them here. Nothing is written but below /tmp and the state folder: the root may be read-only.
ENV SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt \
    DALSEGNO_CONFIG=/etc/dalsegno \
    DALSEGNO__STATE__FOLDER=/var/lib/dalsegno
USER 65532:65532
ENTRYPOINT ["/dalsegno"]
CMD ["run", "--exit", "work"]
