# Sourced by the benches: builds the program, sets the stage with the lab, measures, divides.
# Knobs: RUNS (3), DALSEGNO (a ready binary), and each script's own.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
RUNS=${RUNS:-3}

if [ -z "${DALSEGNO:-}" ]; then
  cargo build --locked --release --bin dalsegno >&2
  DALSEGNO=$PWD/target/release/dalsegno
fi
# The lab only builds and serves the data; its own speed is in no figure but the shape of the link.
[ -x target/debug/lab-stage ] || cargo test --locked --workspace --no-run >&2
LAB=$PWD/target/debug

WORK=$(mktemp -d -t dalsegno-bench.XXXXXX); chmod 755 "$WORK"
STAGE= LINK=
clean_up() {
  exec 9>&- || true # the stage ends with its stdin
  [ -z "$LINK" ] || kill "$LINK" 2>/dev/null || true
  [ -z "$STAGE" ] || wait "$STAGE" 2>/dev/null || true
  rm -rf "$WORK"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

# stage_up [ROWS SEGMENTS]: servers and data; then the LAB_* variables are set.
stage_up() {
  mkfifo "$WORK/hold"
  "$LAB/lab-stage" "$WORK/env" "$@" <"$WORK/hold" >&2 & STAGE=$!
  exec 9>"$WORK/hold"
  while [ ! -e "$WORK/env" ]; do
    kill -0 "$STAGE" 2>/dev/null || { echo "the stage was not set" >&2; exit 1; }
    sleep 0.2
  done
  # shellcheck disable=SC1091
  . "$WORK/env"
}

# link_up PORT ROUND_TRIP_MS MIB_PER_SECOND: a wide-area link to the store at http://127.0.0.1:PORT
link_up() {
  "$LAB/lab-link" "$1" "$LAB_ENDPOINT" "$2" "$3" >"$WORK/link.out" & LINK=$!
  for _ in $(seq 50); do grep -q ready "$WORK/link.out" && return; sleep 0.1; done
  echo "the link does not carry" >&2; exit 1
}
link_down() { kill "$LINK" 2>/dev/null || true; wait "$LINK" 2>/dev/null || true; LINK=; }

# median of the numbers on stdin
median() { sort -n | awk '{a[NR]=$1} END {if (NR) print a[int((NR+1)/2)]; else print "nan"}'; }
# ratio WHAT PEER PEER_FIGURE OUR_FIGURE
ratio() { awk -v w="$1" -v p="$2" -v a="$3" -v b="$4" 'BEGIN {printf "RATIO %s %s %.2f\n", w, p, a / b}'; }
# column FILE N: the median of a column of lab-measure's lines
column() { awk -v n="$2" '{print $n}' "$1" | median; }

# our_config ENDPOINT [EXTRA YAML below the database]
our_config() {
  mkdir -p "$WORK/sandboxes"
  local user=""
  [ -z "$LAB_USER" ] || user="user: $LAB_USER, "
  cat <<Y
site: bench
environment: prod
state: {folder: $WORK/state}
stores:
  store:
    endpoint: $1
    bucket: $LAB_BUCKET
    region: us-east-1
    read: {access-key-id: {env: AWS_ACCESS_KEY_ID}, secret-access-key: {env: AWS_SECRET_ACCESS_KEY}}
postgres:
  $LAB_SERVER:
    archive: {store: store, prefix: $LAB_PREFIX, server: $LAB_SERVER}
${2:-}
drill: {folder: $WORK/sandboxes, ${user}postgres: [$LAB_PGBIN]}
Y
}

machine() { echo "machine: $(nproc) cores, $(awk '/MemTotal/ {printf "%.0f GiB", $2/1048576}' /proc/meminfo), $(uname -r); $("$DALSEGNO" --version); runs: $RUNS, medians below"; }
