# docker build -t braid-server . && docker run -p 8080:8080 -e BRAID_TOKEN=secret -v braid:/data braid-server
ARG BUILD_IMAGE=swift:6.3-bookworm
ARG RUN_IMAGE=debian:bookworm-slim

FROM ${BUILD_IMAGE} AS build
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends libsqlite3-dev && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY . .
RUN swift build -c release --static-swift-stdlib --product braid-server \
 && cp "$(swift build -c release --static-swift-stdlib --show-bin-path)/braid-server" /braid-server

FROM ${RUN_IMAGE}
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends libsqlite3-0 && rm -rf /var/lib/apt/lists/* \
 && useradd --system --uid 10001 braid && mkdir /data && chown braid /data
COPY --from=build /braid-server /usr/local/bin/braid-server
USER braid
VOLUME /data
EXPOSE 8080
ENTRYPOINT ["braid-server"]
CMD ["serve", "--hostname", "0.0.0.0", "--database", "/data/braid.sqlite"]
