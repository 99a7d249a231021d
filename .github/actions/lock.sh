# Sourced by scripts: waits until nothing else builds or measures on this machine, however many runners share it. The
# lock is descriptor 9 and lasts as long as the script: start commands with `9<&-`, as what they leave running would
# keep it. A build that sources this again already has it, and so has a job whose earlier step holds it.
[ -z "${SHOOTOUT_LOCKED-}" ] && [ ! -e "${RUNNER_TEMP-}/shootout.holder" ] || return 0
lock=${SHOOTOUT_LOCK:-/var/lock/shootout.lock}
if [ ! -e "$lock" ] && ! (umask 022 && : >"$lock") 2>/dev/null; then
    if [ -n "${SHOOTOUT_LOCK-}" ]; then
        echo "shootout: $lock (SHOOTOUT_LOCK): cannot be made" >&2
        exit 2
    fi
    lock=/tmp/shootout.lock # /var/lock is root's
    [ -e "$lock" ] || (umask 022 && : >"$lock")
fi
exec 9<"$lock" # not for writing: it may be another user's
flock --nonblock 9 || {
    echo "waiting for $lock: this machine builds or measures for another job" >&2
    flock 9
}
export SHOOTOUT_LOCKED=1
