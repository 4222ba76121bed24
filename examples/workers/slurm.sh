#!/usr/bin/env bash
#SBATCH --job-name=airports
#SBATCH --ntasks=4
#SBATCH --cpus-per-task=1
#SBATCH --mem-per-cpu=1G
#SBATCH --time=04:00:00
#SBATCH --requeue
#SBATCH --open-mode=append
# One allocation: the first task has a Valkey (or a Redis) and the run, the others are workers.
# Submit it in this folder, which all nodes must share: sbatch slurm.sh
# If the time was not enough, submit it again: the run goes on where it ended.
set -euo pipefail

# sbatch runs a copy of this script on the first node. It starts the script itself once for each task.
if [[ ${1:-} != task ]]; then
  cd "${SLURM_SUBMIT_DIR:-$(dirname "$0")}"
  mkdir -p -m 700 secrets
  for secret in queue-key queue-password; do
    [[ -s secrets/$secret ]] || (umask 077 && openssl rand -hex 32 >"secrets/$secret")
  done
  # A worker that has ended, well or not, must not end the others.
  exec srun --kill-on-bad-exit=0 --wait=0 bash slurm.sh task
fi

export AUTOMATE_QUEUE_KEY_FILE=secrets/queue-key AUTOMATE_QUEUE_PASSWORD_FILE=secrets/queue-password
# A node may have several jobs, so each has a port of its own.
port=$((20000 + ${SLURM_JOB_ID:-0} % 20000))
queue=redis://${SLURM_LAUNCH_NODE_IPADDR:-127.0.0.1}:$port

if ((SLURM_PROCID > 0)); then
  # Choose a longer time if the run needs more than a minute to begin, as with a very large output to resume.
  exec automate worker --queue "$queue" --exit-when-idle 60s --grace 25s
fi

server=$(command -v valkey-server || command -v redis-server) || {
  echo 'neither valkey-server nor redis-server is on this node' >&2
  exit 1
}
folder=$(mktemp -d)
# The password comes over stdin: arguments can be seen in the list of processes.
"$server" - --port "$port" --dir "$folder" \
  --appendonly yes --maxmemory 512mb --maxmemory-policy noeviction --loglevel warning <<END_OF_SETTINGS &
requirepass $(<secrets/queue-password)
END_OF_SETTINGS
valkey=$!
trap 'kill "$valkey" 2>/dev/null; wait; rm -rf "$folder"' EXIT
# Slurm signals every process of the job. The shell waits until the run has saved what it has.
stopped=
trap 'stopped=yes' TERM INT

code=0
automate run flow.yaml --in airports.csv --out enriched.csv --resume --queue "$queue" || code=$?
# Workers need Valkey until they end.
while [[ -z $stopped ]] && automate status --queue "$queue" | grep '^worker ' >/dev/null; do sleep 1; done
exit "$code"
