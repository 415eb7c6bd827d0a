#!/usr/bin/env bash
# Audit of a WAL archive by names against barman-cloud-check-wal-archive (which lists the same and looks for no gap),
# and the start time of the program. Knobs: OBJECTS (1,000,000: filling takes about 6 minutes), RUNS (3).
. "$(dirname "$0")/common.sh"
OBJECTS=${OBJECTS:-1000000}
stage_up
machine
echo "filling $OBJECTS objects" >&2
"$LAB/lab-fill" "$LAB_ENDPOINT" "$LAB_BUCKET" "$LAB_PREFIX/$LAB_SERVER" "$OBJECTS" 32 >&2
our_config "$LAB_ENDPOINT" >"$WORK/dalsegno.yaml"

for run in $(seq "$RUNS"); do
  # 0: whole; 1: it says what is wrong with this archive (it has no base backup). Anything else is no audit.
  code=0
  "$LAB/lab-measure" "$WORK/ours" "$DALSEGNO" --config "$WORK/dalsegno.yaml" archive audit >"$WORK/said" 2>&1 || code=$?
  if [ "$code" -gt 1 ] || ! grep -qE "\b$OBJECTS\b|$(printf "%'d" "$OBJECTS")" "$WORK/said"; then
    cat "$WORK/said" >&2; echo "this was no audit of $OBJECTS objects (exit code $code)" >&2; exit 1
  fi
  "$LAB/lab-measure" "$WORK/peer" "$LAB_BARMAN/python" "$LAB_BARMAN/barman-cloud-check-wal-archive" --endpoint-url "$LAB_ENDPOINT" \
    --addressing-style path --timeline 2 "s3://$LAB_BUCKET/$LAB_PREFIX" "$LAB_SERVER" >&2
  echo "run $run is done" >&2
done
for run in $(seq 21); do "$LAB/lab-measure" "$WORK/version" "$DALSEGNO" --version >/dev/null; done

tail -1 "$WORK/said"
mine=$(column "$WORK/ours" 1) rss=$(column "$WORK/ours" 2) theirs=$(column "$WORK/peer" 1) start=$(column "$WORK/version" 1)
echo "ours $mine s, peak $((rss / 1024)) MiB; barman-cloud-check-wal-archive $theirs s, peak $(($(column "$WORK/peer" 2) / 1024)) MiB; --version $start s"
ratio audit barman-cloud-check-wal-archive "$theirs" "$mine"
awk -v r="$rss" 'BEGIN {printf "RATIO audit-rss budget-64MiB %.2f\n", 64 * 1024 / r}'
awk -v s="$start" 'BEGIN {printf "RATIO version budget-15ms %.2f\n", 0.015 / (s > 0.0005 ? s : 0.0005)}'
