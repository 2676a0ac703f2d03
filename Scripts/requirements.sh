# Installs the missing Debian packages that a build of the server needs, and prints their names. ./run, ./test and
# other scripts source this file.
command -v swift >/dev/null || { echo "Swift 6.1 or later is needed: https://swift.org/install" >&2; exit 1; }
missing=
[ -e /usr/include/sqlite3.h ] || missing="$missing libsqlite3-dev"
[ -e /usr/include/sha256.h ] || missing="$missing libmd-dev"
[ -e /usr/include/zlib.h ] || missing="$missing zlib1g-dev"
[ -e /usr/include/zstd.h ] || missing="$missing libzstd-dev"
if [ -n "$missing" ]; then
  echo "installing$missing ..." >&2
  sudo=; [ "$(id -u)" = 0 ] || sudo=sudo
  $sudo apt-get update -qq >&2
  # shellcheck disable=SC2086
  $sudo apt-get install -y -qq $missing >&2
fi
