#!/bin/sh
# Waits until the Temporal server answers, then makes the namespace and Everlap's search attributes where they are
# missing. Safe to run again. TEMPORAL_ADDRESS and TEMPORAL_NAMESPACE are read by the temporal CLI itself.
set -eu
: "${TEMPORAL_ADDRESS:?is not set}" "${TEMPORAL_NAMESPACE:?is not set}"

# again TRIES COMMAND...: once a second until it succeeds; shows what it said when it never did.
again() {
  tries=$1
  shift
  until said=$("$@" 2>&1); do
    tries=$((tries - 1))
    if [ "$tries" -le 0 ]; then
      echo "This did not succeed: $*" >&2
      echo "$said" >&2
      return 1
    fi
    sleep 1
  done
}

ensure_namespace() {
  temporal operator namespace describe --namespace "$TEMPORAL_NAMESPACE" ||
    temporal operator namespace create --namespace "$TEMPORAL_NAMESPACE" --retention 30d
}

add_search_attributes() {
  type=$1
  shift
  for name in "$@"; do
    temporal operator search-attribute create --namespace "$TEMPORAL_NAMESPACE" --type "$type" --name "$name" || return
  done
}

again 120 temporal operator cluster health
again 30 ensure_namespace
# A namespace that was made just now is not known everywhere for some seconds.
again 60 add_search_attributes Keyword EverlapAgent EverlapStatus EverlapReason
again 60 add_search_attributes Int EverlapTurns
again 60 add_search_attributes Double EverlapCostUsd
echo "Namespace $TEMPORAL_NAMESPACE at $TEMPORAL_ADDRESS is ready for Everlap."
