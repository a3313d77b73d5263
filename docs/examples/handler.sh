#!/bin/sh
# Keeps an account without a source supplied: saves a token whenever none is valid.
# usage: handler.sh ACCOUNT COMMAND...      COMMAND prints a token; it asks whoever signs the user in
set -eu
account=$1
shift

# Whoever ends this program ends what it listens to: a pipeline alone would outlive it.
pipe=$(mktemp -d) && mkfifo "$pipe/events"
chatauth watch --topic account "$account" >"$pipe/events" &
trap 'kill $! 2>/dev/null; rm -rf "$pipe"' EXIT
trap 'exit 143' INT TERM

# Each line is a state or a change; the first one is there at once.
while read -r line; do
    case $line in
    *state=sign_in_needed* | *state=expired* | *to=sign_in_needed* | *to=expired* | *to=due*)
        expires_at=$(($(date +%s) + 3600))
        "$@" </dev/null | chatauth save "$account" --expires-at "$expires_at" ||
            echo "handler.sh: nobody is signed in" >&2
        ;;
    *cause=removed*) exit ;;
    esac
done <"$pipe/events"
