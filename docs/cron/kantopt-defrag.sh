#!/bin/sh
# One scheduled run: look at the cluster, plan a defragmentation, leave plan and metrics behind.
# Changes nothing in the cluster. Run it from cron, from kantopt-defrag.service, or in a loop:
#
#   while sleep 900; do sh kantopt-defrag.sh; done
#
# STATE_DIRECTORY is where the files lie (systemd sets it); options of kantopt may follow.
set -eu
cd "${STATE_DIRECTORY:-.}"
# Not a pipe: a kubectl that fails half-way must not look like a smaller cluster.
OBJECTS=nodes,pods,namespaces,pdb,priorityclasses
OBJECTS=$OBJECTS,pvc,pv,storageclasses,csinodes,csidrivers,csistoragecapacities,volumeattachments
OBJECTS=$OBJECTS,deployments,replicasets,statefulsets,daemonsets,jobs
kubectl get "$OBJECTS" -A -o json > cluster.json.new
mv cluster.json.new cluster.json
exec kantopt defrag cluster.json --max-moves 20 --time-limit 60s \
  --max-snapshot-age 15m --lock-file run.lock --last-plan last.json --output-file plan.json \
  --metrics-file kantopt.prom --log-format json --detailed-exitcode "$@"
