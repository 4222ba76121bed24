#!/usr/bin/env bash
# The time zones in which the American airports of the list lie.
set -euo pipefail
cd "$(dirname "$0")"

grep '"country":"US"' airports.ndjson |
  ${AUTOMATE:-automate} run flow.yaml --in - --in-format ndjson --out - --quiet |
  sed 's/.*"timezone":"\([^"]*\)".*/\1/' |
  LC_ALL=C sort -u
