# Builds the container image of the server. Build the image and start a container with:
#   docker build -t braid-server . && docker run -p 8080:8080 -e BRAID_TOKEN=secret -v braid:/data braid-server
# Build an image that also supports --database postgres://… with:
#   docker build --build-arg TRAITS=PostgreSQL -t braid-server-postgresql .
# or one that accepts JSON Web Tokens with TRAITS=JWT, or one for both with TRAITS=PostgreSQL-JWT.
ARG BUILD_IMAGE=swift:6.3-bookworm
ARG RUN_IMAGE=debian:bookworm-slim
ARG TRAITS=

FROM ${BUILD_IMAGE} AS build
ARG TRAITS=
SHELL ["/bin/bash", "-c"]
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends libmd-dev libsqlite3-dev libzstd-dev zlib1g-dev ${TRAITS:+libpq-dev libssl-dev pkg-config} && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY . .
# The cache mount keeps the compiled modules of earlier builds, so that a build compiles only the modules that a change
# concerns.
RUN --mount=type=cache,target=/source/.build cp "$(Scripts/build-static ${TRAITS:+--traits ${TRAITS//-/,}})" /braid-server && mkdir /data

FROM ${RUN_IMAGE} AS run
FROM run AS run-JWT
FROM run AS run-PostgreSQL
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends libpq5 libsqlite3-0 && rm -rf /var/lib/apt/lists/* /var/cache/apt/*.bin
# libpq5 needs OpenSSL, too.
FROM run-PostgreSQL AS run-PostgreSQL-JWT

# Without the trait PostgreSQL, the binary needs no other file, so RUN_IMAGE may be `scratch`. Scripts/release makes the
# image from the last stage of this file only, with a binary that is already built.
FROM run${TRAITS:+-$TRAITS}
COPY --from=build /braid-server /usr/local/bin/braid-server
COPY --from=build --chown=10001:10001 /data /data
USER 10001
VOLUME /data
EXPOSE 8080
# The default address and database of the container. Without a token, the server refuses to listen on 0.0.0.0, unless
# BRAID_ALLOW_ANONYMOUS is true.
ENV BRAID_HOSTNAME=0.0.0.0 BRAID_DATABASE=/data/braid.sqlite
# While the container starts, Docker checks it every 250 ms, because the server usually starts in less than 250 ms.
# (Docker 25 or later.)
HEALTHCHECK --interval=10s --timeout=6s --start-period=30s --start-interval=250ms CMD ["braid-server", "health"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["braid-server"]
CMD ["serve"]
