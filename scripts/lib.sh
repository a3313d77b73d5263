# shellcheck shell=bash
# For test scripts in bash. Each result is one line that `scripts/test-all` counts; the script's exit status says
# whether anything failed: end with `finish`.

failures=0

passed() { printf 'PASSED: %s\n' "$1"; }

skipped() { printf 'SKIPPED: %s\n' "$1"; }

failed() {
    printf 'FAILED: %s\n' "$1"
    failures=$((failures + 1))
}

# expect NAME COMMAND…: passes when the command succeeds; its output is shown only when it does not.
expect() {
    local name=$1 output
    shift
    if output=$("$@" 2>&1); then
        passed "$name"
    else
        failed "$name"
        printf '%s\n' "$output" | head -n "${MAX_LINES:-40}" | sed 's/^/    /'
    fi
}

finish() { [ "$failures" -eq 0 ]; }
