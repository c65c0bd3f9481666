#!/bin/sh
# One scheduled run: look at the cluster, plan a defragmentation, leave plan and metrics behind.
# Changes nothing in the cluster. Run it from cron, from kantopt-defrag.service, or in a loop:
#
#   while sleep 900; do sh kantopt-defrag.sh; done
#
# STATE_DIRECTORY is where the files lie (systemd sets it); options of kantopt may follow. It says
# nothing but what went wrong, for cron mails what is said, unless --log-format is among these.
set -eu
cd "${STATE_DIRECTORY:-.}"
case " $* " in *' --log-format'*) ;; *) set -- --quiet "$@" ;; esac
# Not a pipe: a kubectl that fails half-way must not look like a smaller cluster.
OBJECTS=nodes,pods,namespaces,pdb,priorityclasses
OBJECTS=$OBJECTS,pvc,pv,storageclasses,csinodes,csidrivers,csistoragecapacities,volumeattachments
OBJECTS=$OBJECTS,deployments,replicasets,statefulsets,daemonsets,jobs
kubectl get "$OBJECTS" -A -o json > cluster.json.new || {
  code=$?
  rm -f cluster.json.new
  echo "kantopt-defrag: the cluster was not read (kubectl ends with $code): nothing is planned" >&2
  exit "$code"
}
mv cluster.json.new cluster.json
exec kantopt defrag cluster.json --max-moves 20 --time-limit 60s \
  --max-snapshot-age 15m --lock-file run.lock --last-plan last.json --output-file plan.json \
  --metrics-file kantopt.prom --detailed-exitcode "$@"
