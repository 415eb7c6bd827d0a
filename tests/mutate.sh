#!/usr/bin/env bash
# Flips the decision about each code that policy can say, and expects at least one test to fail: first the rule is made silent, then it
# is made to speak of everything. Needs no rebuild per rule (feature `lab`, src/policy/flip.rs). Ends with
#   MUTATE <noticed> <codes>
# Knobs: CODES="a b" looks at these only; IT=path of the test binary, when it is built already.
set -euo pipefail
cd "$(dirname "$0")/.."
CARGO=${CARGO:-cargo}
# Tests that judge: the corpus, and the cases and twins of the rules. Properties take long and add nothing here.
TESTS=(corpus::every_fault policy:: --skip properties --skip kinds --skip flip --skip codes)

if [ -z "${IT:-}" ]; then
  built=$($CARGO test --locked --workspace --features dalsegno/lab --test it --no-run 2>&1) || { echo "$built" >&2; exit 1; }
  IT=$(sed -n 's/^ *Executable tests\/it\/main.rs (\(.*\))$/\1/p' <<<"$built" | tail -1)
fi
[ -x "$IT" ] || { echo "tests/mutate.sh: no test binary ($IT)" >&2; exit 2; }

run() { DALSEGNO_FLIP=$1 "$IT" "${TESTS[@]}" >"$log" 2>&1; }
log=$(mktemp -t dalsegno-mutate.XXXXXX)
trap 'rm -f "$log"' EXIT

if ! run none; then
  tail -40 "$log" >&2
  echo "tests/mutate.sh: the tests fail without any flip; nothing can be said" >&2
  exit 2
fi

noticed=0 codes=0 survivors=()
for code in ${CODES:-$(sed -n 's/^## //p' docs/reference/findings.md)}; do
  # Codes that another room says (a drill, a channel, the ledger) are not policy's to flip.
  grep -rqF --exclude=clears.rs --exclude=flip.rs "\"$code\"" src/policy || continue
  codes=$((codes + 1))
  caught=yes
  for how in never always; do
    if run "$how:$code"; then caught=no; survivors+=("$how:$code"); fi
  done
  [ $caught = yes ] && noticed=$((noticed + 1))
done
for survivor in "${survivors[@]:-}"; do [ -n "$survivor" ] && echo "no test notices $survivor"; done
echo "MUTATE $noticed $codes"
[ "$noticed" -eq "$codes" ] && [ "$codes" -gt 0 ]
