#!/bin/sh
# Hands the input of a hook to the receiver by curl, which starts several times faster than Node:
#
#     sh hook.sh NODE AGENT [--up]
#
# Prints nothing and exits with 0: agents take anything else for a decision. If curl is missing, or no receiver accepts the
# event, hook.cjs beside it gets the same input under the same id. It spools the event and starts a receiver. Only files of the
# user are read. The token is never an argument, which other users could see.

exec >/dev/null 2>&1
node=$1 agent=$2
shift 2
folder=${0%/*}
input=$(cat)
id='' delivery=''
read -r id </proc/sys/kernel/random/uuid && delivery="header = \"x-hookspan-delivery: $id\""

case ${XDG_STATE_HOME-} in
  /*) receiver=$XDG_STATE_HOME/hookspan/receiver ;;
  *) receiver=$HOME/.local/state/hookspan/receiver ;;
esac

# True for a regular file of this user, not a link. Node's forwarder checks the same.
own() { [ -f "$1" ] && [ ! -h "$1" ] && [ -O "$1" ]; }

token='' socket=''
own "$receiver/token" && read -r token <"$receiver/token"
case $token in *[!0-9a-f]*) token='' ;; esac
if own "$receiver/address.json"; then
  while IFS= read -r line || [ -n "$line" ]; do
    case $line in *'"socket":"'*) socket=${line#*\"socket\":\"} socket=${socket%%\"*} ;; esac
  done <"$receiver/address.json"
fi
parent=
case ${TRACEPARENT-} in
  *[!0-9a-f-]*) ;;
  ??-????????????????????????????????-????????????????-??) parent="header = \"traceparent: $TRACEPARENT\"" ;;
esac

# -q ignores the user's .curlrc. The empty Expect header sends a large input at once.
post() {
  printf '%s' "$input" | curl -q -s -f -m 0.1 --noproxy '*' --unix-socket "$socket" -K /dev/fd/3 \
    -H 'content-type: application/json' -H 'Expect:' --data-binary @- "http://localhost/$agent" 3<<HEADERS
header = "x-hookspan-token: $token"
header = "x-hookspan-client: @VERSION@"
$delivery
$parent
HEADERS
}

[ -z "$input" ] && exit 0
if [ "${#token}" -eq 64 ] && [ -S "$socket" ] && [ ! -h "$socket" ] && [ -O "$socket" ] && post; then exit 0; fi
printf '%s' "$input" | "$node" "$folder/hook.cjs" "$agent" "$@" ${id:+--id "$id"}
exit 0
