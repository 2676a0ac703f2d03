# Sourced by ./run and ./test: installs what is missing, and says so.
command -v swift >/dev/null || { echo "Swift 6.1 or later is needed: https://swift.org/install" >&2; exit 1; }
if [ ! -e /usr/include/sqlite3.h ]; then
  echo "installing libsqlite3-dev ..." >&2
  sudo=; [ "$(id -u)" = 0 ] || sudo=sudo
  $sudo apt-get update -qq >&2
  $sudo apt-get install -y -qq libsqlite3-dev >&2
fi
