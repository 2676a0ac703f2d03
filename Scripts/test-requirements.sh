# Sourced by ./test: what the tests need beside what the server needs.
missing=
[ -x /usr/bin/python3 ] && /usr/bin/python3 -c 'import prometheus_client' 2>/dev/null || missing="$missing python3-prometheus-client"
[ -x /usr/bin/python3 ] && /usr/bin/python3 -c 'import pytest' 2>/dev/null || missing="$missing python3-pytest"
[ -x /usr/bin/python3 ] && /usr/bin/python3 -c 'import ensurepip' 2>/dev/null || missing="$missing python3-venv"
if [ -n "$missing" ]; then
  echo "installing$missing ..." >&2
  sudo=; [ "$(id -u)" = 0 ] || sudo=sudo
  $sudo apt-get update -qq >&2
  # shellcheck disable=SC2086
  $sudo apt-get install -y -qq --no-install-recommends $missing >&2
fi
# PostgreSQL, where it can be had: elsewhere the tests of what is kept in it are left out.
has_postgres() {
  { command -v initdb || ls -d /usr/lib/postgresql/*/bin/initdb; } >/dev/null 2>&1 && pkg-config --exists libpq 2>/dev/null
}
if ! has_postgres; then
  echo "installing postgresql libpq-dev pkg-config ..." >&2
  sudo=; [ "$(id -u)" = 0 ] || sudo=sudo
  { $sudo apt-get update -qq && DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends postgresql libpq-dev pkg-config; } >&2 || true
fi
# What Debian does not have, of PyPI, for this directory alone.
if ! cmp -s Tests/OpenAPI/requirements.txt .build/python/requirements.txt; then
  echo "installing Tests/OpenAPI/requirements.txt in .build/python ..." >&2
  /usr/bin/python3 -m venv .build/python >&2 && .build/python/bin/pip install -q --disable-pip-version-check -r Tests/OpenAPI/requirements.txt >&2 \
    && cp Tests/OpenAPI/requirements.txt .build/python/requirements.txt
fi
