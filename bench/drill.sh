#!/usr/bin/env bash
# Wall time and memory of a restore drill (base, replay, promote; assertions are timed apart) against
# barman-cloud-restore + barman-cloud-wal-restore with and without prefetch, on loopback and at 40 ms.
# Knobs: ROWS (3,000,000 accounts = about 450 MB), SEGMENTS (60), RUNS (3), LINKS ("loopback 40ms"), PREFETCH ("1 4 8").
. "$(dirname "$0")/common.sh"
ROWS=${ROWS:-3000000} SEGMENTS=${SEGMENTS:-60} LINKS=${LINKS:-loopback 40ms} PREFETCH=${PREFETCH:-1 4 8}
stage_up "$ROWS" "$SEGMENTS"
machine

as_server() { if [ -n "$LAB_USER" ]; then setpriv --reuid "$LAB_USER" --regid "$(id -g "$LAB_USER")" --clear-groups "$@"; else "$@"; fi; }

# peer ENDPOINT PREFETCH: one restore; prints the seconds until the cluster has left recovery
cat >"$WORK/peer.sh" <<'P'
#!/usr/bin/env bash
set -euo pipefail
endpoint=$1 prefetch=$2 d=$3
store=(--endpoint-url "$endpoint" --addressing-style path)
cat >"$d/fetch" <<F
#!/bin/sh
exec '$LAB_BARMAN/barman-cloud-wal-restore' --endpoint-url '$endpoint' --addressing-style path $([ "$prefetch" = 1 ] || echo "-p $prefetch --spool-dir '$d/spool'") 's3://$LAB_BUCKET/$LAB_PREFIX' '$LAB_SERVER' "\$1" "\$2"
F
chmod 755 "$d/fetch"
begin=$(date +%s.%N)
"$LAB_BARMAN/barman-cloud-restore" "${store[@]}" "s3://$LAB_BUCKET/$LAB_PREFIX" "$LAB_SERVER" "$LAB_BACKUP" "$d/data"
chmod 700 "$d/data"; : >"$d/data/recovery.signal"; : >"$d/data/postgresql.auto.conf"
# The same server as the drill's: no fsync, for its data directory is thrown away, and as much memory.
cat >>"$d/data/postgresql.conf" <<C
restore_command = '$d/fetch %f %p'
archive_mode = 'off'
fsync = 'off'
full_page_writes = 'off'
shared_buffers = '1GB'
max_wal_size = '1TB'
checkpoint_timeout = '1d'
listen_addresses = ''
unix_socket_directories = '$d'
C
"$LAB_PGBIN/postgres" -D "$d/data" >"$d/log" 2>&1 & pg=$!
# The signal file goes when recovery has ended and the new timeline is written.
while [ -e "$d/data/recovery.signal" ]; do kill -0 $pg || { tail -5 "$d/log" >&2; exit 1; }; sleep 0.05; done
end=$(date +%s.%N)
replayed=$(grep -c 'restored log file' "$d/log")
kill -INT $pg; wait $pg || true
[ "$replayed" -ge "$SEGMENTS" ] || { echo "the peer replayed only $replayed segments" >&2; exit 1; }
echo "$end - $begin" | awk '{print $1 - $3}'
P
chmod 755 "$WORK/peer.sh"; export SEGMENTS
peer() {
  local d; d=$(mktemp -d -p "$WORK" peer.XXXX); [ -z "$LAB_USER" ] || chown "$LAB_USER" "$d"
  mkdir "$d/spool"; [ -z "$LAB_USER" ] || chown "$LAB_USER" "$d/spool"
  HOME=/tmp AWS_EC2_METADATA_DISABLED=true as_server bash "$WORK/peer.sh" "$1" "$2" "$d"
  rm -rf "$d"
}

# What the drill took without its assertions, from its own evidence; the whole is measured from outside.
cat >"$WORK/phases.py" <<'P'
import json, sys
evidence = json.load(open(sys.argv[1]))
evidence = evidence.get("evidence", evidence)
phases = {p["name"]: p["seconds"] for p in evidence["phases"]}
print("%.3f" % phases.get("checks", 0.0))
print(evidence["verdict"], " ".join("%s %.2f" % kv for kv in phases.items()), file=sys.stderr)
P
ours() { # ours ENDPOINT FILE
  our_config "$1" "    system-id: \"$LAB_SYSTEM_ID\"
    policy: {rpo: 365d, rto: 1h}
    checks:
      - {name: rows, sql: \"select sum(balance)::text || ' ' || count(*)::text from accounts\", expect: {value: \"$LAB_EXPECT\"}, tells-stale: true}" >"$WORK/dalsegno.yaml"
  local code=0
  "$LAB/lab-measure" "$WORK/one" "$DALSEGNO" --config "$WORK/dalsegno.yaml" -o json drill pg-restore --db "$LAB_SERVER" >"$WORK/evidence.json" 2>"$WORK/drill.err" || code=$?
  if [ "$code" -ne 0 ]; then cat "$WORK/drill.err" "$WORK/evidence.json" >&2; echo "the drill ended with $code" >&2; exit 1; fi
  local checks; checks=$(python3 "$WORK/phases.py" "$WORK/evidence.json")
  awk -v c="$checks" '{printf "%.3f %s %s %.3f\n", $1 - c, $2, c, $1}' "$WORK/one" >>"$2"; rm "$WORK/one"
}

RATIOS=
for link in $LINKS; do
  endpoint=$LAB_ENDPOINT
  # 25 MiB/s a connection: a home line to a cloud store.
  if [ "$link" = 40ms ]; then link_up 18350 40 25; endpoint=http://127.0.0.1:18350; fi
  for run in $(seq "$RUNS"); do
    ours "$endpoint" "$WORK/ours.$link"
    for p in $PREFETCH; do peer "$endpoint" "$p" >>"$WORK/peer.$link.$p"; done
    echo "run $run of $link is done" >&2
  done
  [ "$link" = loopback ] || link_down
  mine=$(column "$WORK/ours.$link" 1) rss=$(column "$WORK/ours.$link" 2)
  echo "$link: ours $mine s (assertions apart: $(column "$WORK/ours.$link" 3) s; whole $(column "$WORK/ours.$link" 4) s), peak $((rss / 1024)) MiB"
  best=
  for p in $PREFETCH; do
    theirs=$(median <"$WORK/peer.$link.$p"); echo "$link: barman-cloud -p $p $theirs s"
    best=$(printf '%s\n' "$theirs" $best | sort -n | head -1)
  done
  RATIOS+="$(ratio "drill-$link" barman-cloud "$best" "$mine")"$'\n'
  RATIOS+="$(awk -v r="$rss" -v l="$link" 'BEGIN {printf "RATIO drill-rss-%s budget-96MiB %.2f", l, 96 * 1024 / r}')"$'\n'
done
printf '%s' "$RATIOS"
