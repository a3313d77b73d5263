# shellcheck shell=bash
# What scripts/demo shows of each chat platform: from nothing to a token, what the platform sees, and signing out.
# It reads $bin, $http and $scratch, and uses the functions of scripts/demo.
# shellcheck disable=SC2154

control() { curl --silent --fail "$@" >/dev/null || fail "the stand-in did not take: curl $*"; }

# show_with INPUT COMMAND…: the same as show, with a text as standard input
show_with() {
    local input=$1
    shift
    printf '  $ chatauth %s <<END\n' "$*"
    printf '%s\nEND\n' "$input" | sed 's/^/    /'
    printf '%s' "$input" | "$bin/chatauth" "$@" | sed 's/^/  /'
}

# eventually COMMAND…: waits until it succeeds, at most 20 s
eventually() {
    local tries=0
    until "$@" >/dev/null 2>&1; do
        [ $((tries += 1)) -lt 400 ] || fail "this did not come true: $*"
        sleep 0.05
    done
}

show_kindly() {
    say "A key that signs the bot's tokens; its public half goes to the platform"
    openssl genpkey -quiet -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out "$scratch/kindly.pem"
    local public_key
    public_key=$(openssl pkey -in "$scratch/kindly.pem" -pubout | awk '{ key = key $0 "\\n" } END { print key }')
    control -X PUT "$http/_sandbox/kindly/my-bot" -d "{\"public_key\": \"$public_key\", \"bind_seconds\": 20}"
    show secret set kindly-key --exact --file "$scratch/kindly.pem"

    say "An account with that key: its tokens are good for 15 minutes, and the platform honours each for 20 s"
    show_with '{"provider": "kindly",
 "settings": {"bot_key": "my-bot", "market": "en", "strategy": "kindly_jwt",
              "base_url": "'"$http"'/kindly/my-bot/chatbubble/v2"},
 "source": {"kind": "jwt", "key": {"secret": "kindly-key"}, "algorithm": "RS256", "lifetime": 900,
            "issuer": "https://shop.example", "subject": "user-42"}}' account add shop-bot -
    show get-token shop-bot
    eventually bound
    show status shop-bot
    say "Every header of a message, and the chat that it goes to"
    show headers shop-bot --route message | cut -c 1-100
    curl --silent --fail "$http/_sandbox/kindly/my-bot/chats" | sed 's/^/  the platform says: /'
    say "Signing out keeps the chat"
    local chat
    chat=$("$bin/chatauth" chat id shop-bot)
    show auth deauthenticate shop-bot
    [ "$("$bin/chatauth" chat id shop-bot)" = "$chat" ] || fail "the chat is another one"
    show headers shop-bot --route message
}

bound() { "$bin/chatauth" account show shop-bot --json | grep -q '"expiry_source":"backend"'; }

show_chatbase() {
    say "The agent's secret for identity verification, and an account that signs with it"
    show_with 'identity-secret' secret set chatbase-identity
    show_with '{"provider": "chatbase",
 "settings": {"agent_id": "agent-1", "base_url": "'"$http"'/chatbase/shop/api/sdk"},
 "source": {"kind": "jwt", "key": {"secret": "chatbase-identity"}, "algorithm": "HS256", "lifetime": 3600,
            "claims": {"user_id": "user-42"}}}' account add help-desk -
    show get-token help-desk
    show identity state help-desk
    show headers help-desk
    say "Signing out makes no request, and the device stays"
    show identity logout help-desk
    show headers help-desk
    say "A token that the server refuses changes nothing"
    printf 'e30.e30.bad' | "$bin/chatauth" identity identify help-desk --token-file - 2>&1 | sed 's/^/  /' || true
    show identity state help-desk
}

show_socialplus() {
    say "The network's two keys, and an account that asks for auth tokens with one of them"
    show_with 'api-key' secret set socialplus-api-key
    show_with 'server-key' secret set socialplus-server-key
    show_with '{"provider": "socialplus",
 "settings": {"api_key": {"secret": "socialplus-api-key"}, "base_url": "'"$http"'/socialplus/club",
              "user_id": "user-123"},
 "source": {"kind": "http", "form": "socialplus_auth_token", "server_key": {"secret": "socialplus-server-key"},
            "url": "'"$http"'/socialplus/club/api/v4/authentication/token"}}' account add community -
    say "Nobody is logged in until somebody logs in"
    show session state community
    show session login community
    show get-token community
    show session state community
    say "The platform bans the user: the next call says so, and the session is over for good"
    control "$http/_sandbox/socialplus/club/users" -d '{"userId": "user-123", "state": "banned"}'
    show session report community 400312
    show session state community
    "$bin/chatauth" get-token community 2>&1 | sed 's/^/  /' || true
    say "Only a logout leads out of that"
    show session logout community
    show session state community
}
