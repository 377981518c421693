#!/bin/sh
# A walk through memslot with a sample workspace, in a home of its own that is removed at the end.
set -eu
here=$(dirname "$0")
MEMSLOT_HOME=$(mktemp -d)
export MEMSLOT_HOME
trap 'rm -rf "$MEMSLOT_HOME"' EXIT INT TERM

show() {
    printf '\n$'
    for word in "$@"; do
        case $word in *" "*) printf ' "%s"' "$word" ;; *) printf ' %s' "$word" ;; esac
    done
    printf '\n'
    "$@"
}

show memslot init
printf '\nCopying the sample notes in %s to %s\n' "$here/workspace" "$MEMSLOT_HOME/workspace"
cp -R "$here/workspace/." "$MEMSLOT_HOME/workspace/"

show memslot plugins list
show memslot memory index
show memslot memory status
show memslot memory search "which database does billing use?" -n 2
show memslot memory search "three tries, then a person" -n 1 --explain
show memslot run "who owns the payment gateway?"
show python "$here/agent.py"
show memslot embed probe
show memslot doctor
printf '\nThat was a host with a plugin in its memory slot. To use memslot yourself:\n'
printf '  . .venv/bin/activate\n  memslot init\nNext: docs/quickstart.md\n'
