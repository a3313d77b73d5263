#!/bin/sh
# Does something with each new token of an account: here it writes a file that another program reads.
# usage: subscriber.sh ACCOUNT FILE
set -eu
account=$1
file=$2
umask 077

write() {
    if chatauth get-token "$account" >"$file.new"; then
        mv "$file.new" "$file" && echo "written"
    else
        # There is none: what the file has is good for nothing any more.
        rm -f "$file.new" "$file"
    fi
}

# Whoever ends this program ends what it listens to: a pipeline alone would outlive it.
pipe=$(mktemp -d) && mkfifo "$pipe/events"
chatauth watch --topic token "$account" >"$pipe/events" &
trap 'kill $! 2>/dev/null; rm -rf "$pipe"' EXIT
trap 'exit 143' INT TERM

# The state comes first, then each change. A token is asked for by those who may have it: it stands in no event.
while read -r line; do
    case $line in
    *cause=deleted* | *cause=removed* | *generation=0*) rm -f "$file" ;;
    state*account=* | token.changed*) write || true ;;
    esac
done <"$pipe/events"
