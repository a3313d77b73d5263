#!/bin/sh
# Does something with each new token of an account: here it writes a file that another program reads.
# usage: subscriber.sh ACCOUNT FILE
set -eu
account=$1
file=$2
umask 077

write() {
    chatauth get-token "$account" >"$file.new" && mv "$file.new" "$file" && echo "written"
}

# The state comes first, then each change. A token is asked for by those who may have it: it stands in no event.
chatauth watch --topic token "$account" | while read -r line; do
    case $line in
    *cause=deleted* | *cause=removed* | *generation=0*) rm -f "$file" ;;
    state*account=* | token.changed*) write || true ;;
    esac
done
