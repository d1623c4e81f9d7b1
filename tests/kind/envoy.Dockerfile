# Envoy needs glibc, which the base of the operator's image has.
ARG BASE=docker.io/library/python:3.11-slim-bookworm
FROM ${BASE}
COPY envoy /usr/local/bin/envoy
USER 65532:65532
ENTRYPOINT ["/usr/local/bin/envoy"]
