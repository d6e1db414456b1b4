# curl through the proxy. The first line says that there is no server of WebSockets here; the proxy's URL comes on the
# standard input.
set -eu
echo 'websocket 0'
read -r proxy
fetch() { curl -sS --noproxy '*' --max-time 20 "$@"; }
is() { if [ "$2" != "$3" ]; then echo "$1: $2 instead of $3" >&2; exit 1; fi; }

is once "$(fetch "$proxy/curl/once")" fine
is post "$(fetch -o /dev/null -w '%{http_code}' -d x "$proxy/curl/post")" 503
is keyed "$(fetch -H 'Idempotency-Key: "k"' -d x "$proxy/curl/keyed")" fine
code=0
fetch "$proxy/curl/cut" >/dev/null 2>&1 || code=$?
is cut "$code" 18
is up "$(head -c 2097152 /dev/zero | fetch -T - -X POST "$proxy/curl/up")" taken
is down "$(fetch "$proxy/curl/down" | wc -c | tr -d ' ')" 4194304
is events "$(fetch -N "$proxy/curl/events" | grep -c '^data: ')" 2
code=0
curl -sS --noproxy '*' --max-time 0.3 "$proxy/curl/hang" 2>/dev/null || code=$?
is hang "$code" 28
is tls "$(fetch "$proxy/curl/tls")" sealed
# The same URL in absolute form, as programs send it that are given a proxy.
is absolute "$(curl -sS --noproxy '' --proxy "$proxy" --max-time 20 "$UPSTREAM/curl/absolute")" fine
