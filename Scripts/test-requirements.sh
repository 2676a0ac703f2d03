# Installs what the tests need in addition to the packages that a build of the server needs. ./test sources this file.
# prometheus_client reads /metrics as Prometheus does.
missing=
[ -x /usr/bin/python3 ] && /usr/bin/python3 -c 'import prometheus_client' 2>/dev/null || missing="$missing python3-prometheus-client"
[ -x /usr/bin/python3 ] && /usr/bin/python3 -c 'import pytest' 2>/dev/null || missing="$missing python3-pytest"
[ -x /usr/bin/python3 ] && /usr/bin/python3 -c 'import ensurepip' 2>/dev/null || missing="$missing python3-venv"
# For the trait JWT.
[ -e /usr/include/openssl/evp.h ] || missing="$missing libssl-dev"
# The programs that the commands in the documents need.
command -v curl >/dev/null || missing="$missing curl"
command -v sqlite3 >/dev/null || missing="$missing sqlite3"
command -v openssl >/dev/null || missing="$missing openssl"
if [ -n "$missing" ]; then
  echo "installing$missing ..." >&2
  sudo=; [ "$(id -u)" = 0 ] || sudo=sudo
  $sudo apt-get update -qq >&2
  # shellcheck disable=SC2086
  $sudo apt-get install -y -qq --no-install-recommends $missing >&2
fi
# The programs that only some of the tests need: the JavaScript client and its types, the inspector, the image of a
# release, systemd's rating and filter of system calls, the test kit for Java. If a program cannot be installed, its
# tests are skipped.
for program in node:nodejs npm:npm tsc:node-typescript chromium:chromium buildah:buildah systemd-analyze:systemd strace:strace \
  javac:openjdk-17-jdk-headless /usr/share/java/junit-platform-console.jar:junit5; do
  { command -v "${program%:*}" >/dev/null || [ -e "${program%:*}" ]; } && continue
  echo "installing ${program#*:} ..." >&2
  sudo=; [ "$(id -u)" = 0 ] || sudo=sudo
  $sudo apt-get update -qq >&2 && $sudo apt-get install -y -qq --no-install-recommends "${program#*:}" >&2 \
    || echo "${program#*:} could not be installed: the tests that need it are left out" >&2
done
# PostgreSQL. If it cannot be installed, the tests of the store on PostgreSQL are skipped.
has_postgres() {
  { command -v initdb || ls -d /usr/lib/postgresql/*/bin/initdb; } >/dev/null 2>&1 && pkg-config --exists libpq 2>/dev/null
}
if ! has_postgres; then
  echo "installing postgresql libpq-dev pkg-config ..." >&2
  sudo=; [ "$(id -u)" = 0 ] || sudo=sudo
  { $sudo apt-get update -qq && DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends postgresql libpq-dev pkg-config; } >&2 || true
fi
# A container engine. If it cannot be installed, the tests do not start the containers of the documents.
if ! command -v podman >/dev/null || ! command -v runc >/dev/null; then
  echo "installing podman runc ..." >&2
  sudo=; [ "$(id -u)" = 0 ] || sudo=sudo
  { $sudo apt-get update -qq && DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends podman runc containernetworking-plugins iptables golang-github-containernetworking-plugin-dnsname; } >&2 || true
fi
# Installs the Python packages in Tests/requirements.txt from PyPI, in the virtual environment .build/python.
if ! cmp -s Tests/requirements.txt .build/python/requirements.txt; then
  echo "installing Tests/requirements.txt in .build/python ..." >&2
  /usr/bin/python3 -m venv .build/python >&2 && .build/python/bin/pip install -q --disable-pip-version-check -r Tests/requirements.txt >&2 \
    && cp Tests/requirements.txt .build/python/requirements.txt
fi
# The proxies for which the documentation contains recipes. Their packages are only unpacked: an installed package would
# start its proxy.
if [ ! -e .build/proxies/usr/sbin/nginx ] || [ ! -e .build/proxies/usr/bin/caddy ]; then
  echo "unpacking nginx and caddy in .build/proxies ..." >&2
  sudo=; [ "$(id -u)" = 0 ] || sudo=sudo
  mkdir -p .build/proxies
  (cd .build/proxies && { apt-get download -qq nginx caddy 2>/dev/null || { $sudo apt-get update -qq && apt-get download -qq nginx caddy; }; } && for package in nginx_*.deb caddy_*.deb; do dpkg -x "$package" .; done && rm -f ./*.deb) >&2
fi
# promtool, which checks the alert rules. Its package is only unpacked: the installed package would start Prometheus.
if [ ! -e .build/prometheus/usr/bin/promtool ]; then
  echo "unpacking prometheus in .build/prometheus ..." >&2
  sudo=; [ "$(id -u)" = 0 ] || sudo=sudo
  mkdir -p .build/prometheus
  (cd .build/prometheus && { apt-get download -qq prometheus 2>/dev/null || { $sudo apt-get update -qq && apt-get download -qq prometheus; }; } && dpkg -x prometheus_*.deb . && rm -f ./*.deb) >&2
fi
