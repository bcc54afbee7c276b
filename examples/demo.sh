#!/bin/sh
# Allocate the claims of every example: demo.sh [DRASAT]
set -eu
drasat=${1:-drasat}
for folder in "$(dirname "$0")"/*/; do
  printf '\n== %s\n' "$(basename "$folder")"
  sed -n '3,4p' "$folder/README.md"
  # Exit code 1 is an answer too: some examples ask for more than there is.
  "$drasat" allocate -f "$folder" 2>&1 || [ $? -eq 1 ]
done
