#!/bin/sh
# Allocate the claims of every example, plan the queues, and write a report of a plan: demo.sh [DRASAT [REPORT]]
set -eu
drasat=${1:-drasat}
report=${2:-demo-report.html}
for folder in "$(dirname "$0")"/*/; do
  # Quota is about workloads that allocate and plan do not know.
  case $folder in */kueue/) continue ;; esac
  printf '\n== %s\n' "$(basename "$folder")"
  sed -n '3,4p' "$folder/README.md"
  case $folder in
    */plan-buy/) verb='plan --buy --only-new' ;;
    */plan-*) verb=plan ;;
    */inventory/) verb=show ;;
    */provisioning/) verb=provision ;;
    */overlays/) verb=overlay ;;
    */study/) verb="study --study ${folder}studies/budget.yaml" ;;
    *) verb=allocate ;;
  esac
  # Exit code 1 is an answer too: some examples ask for more than there is.
  # shellcheck disable=SC2086
  "$drasat" $verb -f "$folder" 2>&1 || [ $? -eq 1 ]
done
printf '\n== report\n'
# The last line says where the report is, or what to install.
"$drasat" plan -f "$(dirname "$0")/plan-queue" --report "$report" 2>&1 > /dev/null | tail -n 1
