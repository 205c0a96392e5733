#!/bin/sh
# Run one of our scripts with a Python that is new enough. PYTHON names one; otherwise the first that fits is taken.
set -eu
cd "$(dirname "$0")/.."

fits='import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))'
for candidate in ${PYTHON:-python3 python3.14 python3.13 python3.12 python3.11 python}; do
    if "$candidate" -c "$fits" >/dev/null 2>&1; then
        exec "$candidate" "$@"
    fi
done

echo "no Python 3.11 or newer with venv and pip was found (looked for: ${PYTHON:-python3, python3.11 to python3.14})" >&2
echo "hint: install one (on Debian also its -venv package), or name it: make setup PYTHON=/path/to/python3.12" >&2
exit 2
