#!/usr/bin/env bash
# A Docker engine and a base image for the tests, without any registry of images.
#
#   tests/engine/up.sh          start an engine unless one answers, and make the image unless it is current
#   tests/engine/up.sh status   exit 0 when an engine answers
#   tests/engine/up.sh stop     stop the engine that this script started, and no other
#
# DOCKER_HOST       where the engine listens (unix:///var/run/docker.sock)
# ACR_ENGINE_ROOT   keep everything of the engine below this folder: a second engine beside the first
# ACR_TEST_IMAGE    name of the base image (acr-test-python:ci)
# PYTHON            the Python with pytest that goes into the image (the checkout's .venv, else python3)
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export DOCKER_HOST=${DOCKER_HOST:-unix:///var/run/docker.sock}
export PATH=$PATH:/usr/sbin:/sbin
image=${ACR_TEST_IMAGE:-acr-test-python:ci}
root=${ACR_ENGINE_ROOT:-}
data=${root:-/var/lib}/docker
run=${root:-/var/run}/docker
pidfile=${root:-/var/run}/docker.pid
state=${root:-/var/run}/acr-engine
python=${PYTHON:-$here/../../.venv/bin/python}
[ -x "$python" ] || python=python3

say() { echo "engine: $*"; }
die() { echo "engine: $*" >&2; exit 1; }
answers() { timeout 10 docker info >/dev/null 2>&1; }

# Does process $1 run, is it program $2, and is it more than a zombie?
runs() { [ -n "$1" ] && [ "$(ps -o comm= -o stat= -p "$1" 2>/dev/null | awk '$2 !~ /^Z/ {print $1}')" = "$2" ]; }

# An engine that was killed leaves its pid files, and the next one refuses to start when a stranger has that number.
drop_stale_pid() {
  if [ -e "$1" ] && ! runs "$(cat "$1")" "$2"; then rm -f "$1"; fi
}

# The host's network stays as it is: no bridge, no packet filter, no forwarding. Containers get `none` or `host`.
launch() {
  drop_stale_pid "$pidfile" dockerd
  drop_stale_pid "$run/containerd/containerd.pid" containerd
  setsid dockerd --host "$DOCKER_HOST" --exec-root "$run" --pidfile "$pidfile" \
    --bridge=none --iptables=false --ip-forward=false --ip-masq=false "$@" \
    >"$state/dockerd.log" 2>&1 </dev/null 9>&- &
  local pid=$!
  for _ in $(seq 300); do
    if answers; then echo "$pid" >"$state/pid"; return 0; fi
    runs "$pid" dockerd || [ "$SECONDS" -lt 3 ] || break
    sleep 0.2
  done
  kill "$pid" 2>/dev/null || true
  wait "$pid" 2>/dev/null || true
  return 1
}

start() {
  command -v dockerd >/dev/null || die "dockerd is not installed (on Debian: apt-get install docker.io)"
  [ "$(id -u)" = 0 ] || die "only root can start an engine; start yours, or run this as root"
  mkdir -p "$data" "$run" "$state"
  exec 9>"$state/lock"
  flock -w 300 9 || die "another start has not ended for five minutes"
  if answers; then return 0; fi
  # vfs is slow, and works where the file system below cannot carry an overlay.
  launch --data-root "$data" || launch --data-root "$data-vfs" --storage-driver vfs || {
    tail -n 20 "$state/dockerd.log" >&2
    die "dockerd did not start"
  }
  say "started, process $(cat "$state/pid")"
}

stop() {
  local pid
  pid=$(cat "$state/pid" 2>/dev/null || true)
  rm -f "$state/pid"
  runs "$pid" dockerd || { say "none of ours runs"; return 0; }
  kill "$pid"
  for _ in $(seq 200); do
    runs "$pid" dockerd || { say "stopped"; return 0; }
    sleep 0.1
  done
  kill -KILL "$pid"
  say "killed after 20 seconds"
}

make_image() {
  local key
  key=$("$python" "$here/base_image.py" --key)
  if [ "$(docker image inspect -f '{{index .Config.Labels "acr-test.key"}}' "$image" 2>/dev/null)" = "$key" ]; then
    say "image $image is current"
    return 0
  fi
  "$python" "$here/base_image.py" | timeout 300 docker import --change "LABEL acr-test.key=$key" \
    --change 'ENV PATH=/opt/python/bin:/usr/bin:/bin LANG=C.UTF-8' --change 'WORKDIR /src' - "$image" >/dev/null
  # The limits that the verifier sets must be accepted, or every test would fail for another reason.
  timeout 120 docker run --rm --network none --read-only --tmpfs /tmp --memory 256m --pids-limit 64 \
    --user 1000:1000 --cap-drop ALL --security-opt no-new-privileges "$image" python3 -m pytest --version
  say "image $image made"
}

case ${1:-up} in
  up) answers || start; make_image ;;
  status) answers ;;
  stop) stop ;;
  *) die "unknown word: $1 (up, status or stop)" ;;
esac
