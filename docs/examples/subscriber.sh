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

# The state comes first, then each change. A token is asked for by those who may have it: it stands in no event.
chatauth watch --topic token "$account" | while read -r line; do
    case $line in
    *cause=deleted* | *cause=removed* | *generation=0*) rm -f "$file" ;;
    state*account=* | token.changed*) write || true ;;
    esac
done
