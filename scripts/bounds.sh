#!/usr/bin/env bash
# Runs tests with the lowest and with the newest dependencies that pyproject.toml allows, on each Python given.
#
#     make bounds [PYTHONS="python3.11 python3.12"]
#
# One environment for each, kept until pyproject.toml changes. The newest on the Python of .venv is what `make test` runs
# in as it is, so that pair is left out. The lowest come from scripts/lowest_versions.py.
set -euo pipefail
pythons=$1
shift

run() { # SET PYTHON VERSION TEST...: an environment that is up to date, and the tests in it
  local set=$1 python=$2 version=$3
  local venv=.venv-bounds-$version-$set
  shift 3
  if [ ! "$venv/.installed" -nt pyproject.toml ]; then
    rm -rf "$venv"
    "$python" -m venv "$venv"
    "$BIN/python" -m scripts.lowest_versions >"$venv/lowest.txt"
    [ "$set" = lowest ] || : >"$venv/lowest.txt"
    # shellcheck disable=SC2086 # the words of a command
    "$venv/bin/python" $PIP_INSTALL -c "$venv/lowest.txt" -e '.[parquet,png,test]' hatchling
    touch "$venv/.installed"
  fi
  echo "-- Python $version, the $set dependencies"
  "$venv/bin/python" -m pytest -q -n auto --dist worksteal -m "not torch and not gpu and not long" --sample 1 "$@" ||
    failed="$failed $version-$set"
}

interpreter() { # pythonX.Y: the command of that name, or what pyenv has
  local candidate
  for candidate in "$1" "${PYENV_ROOT:-$HOME/.pyenv}/versions/${1#python}".*/bin/python3; do
    "$candidate" -c pass 2>/dev/null && echo "$candidate" && return
  done
  return 1
}

failed=
own=$("$BIN/python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
for wanted in $pythons; do
  if ! python=$(interpreter "$wanted"); then
    echo "-- $wanted is not on this machine: skipped"
    continue
  fi
  version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  run lowest "$python" "$version" "$@"
  [ "$version" = "$own" ] || run newest "$python" "$version" "$@"
done
if [ -n "$failed" ]; then
  echo "-- failed:$failed" >&2
  exit 1
fi
