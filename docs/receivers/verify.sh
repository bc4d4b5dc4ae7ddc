#!/bin/sh
# Verifies one webhook by hand with openssl: for a look at what arrived, not for a server.
#
#   sh verify.sh KEY ID TIMESTAMP SIGNATURES BODY_FILE
#
# KEY is the signing_secret (whsec_...) or the public_key (whpk_...); ID, TIMESTAMP and SIGNATURES are the values of the
# headers webhook-id, webhook-timestamp and webhook-signature; BODY_FILE holds the body byte for byte. The age of the
# timestamp is not looked at. Prints "genuine" (exit code 0) or "not genuine" (1).
set -eu
[ $# -eq 5 ] || { echo "usage: sh verify.sh KEY ID TIMESTAMP SIGNATURES BODY_FILE" >&2; exit 2; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
{ printf '%s.%s.' "$2" "$3"; cat "$5"; } > "$folder/content"
printf '%s' "${1#*_}" | openssl base64 -d -A > "$folder/key"

case $1 in
  whsec_*)
    hex=$(od -An -v -tx1 "$folder/key" | tr -d ' \n')
    expected=v1,$(openssl dgst -sha256 -mac HMAC -macopt "hexkey:$hex" -binary "$folder/content" | openssl base64 -A)
    for entry in $4; do
      if [ "$entry" = "$expected" ]; then echo genuine; exit 0; fi
    done
    ;;
  whpk_*)
    # An Ed25519 public key in DER is a fixed beginning and the 32 bytes of the key.
    { printf '\060\052\060\005\006\003\053\145\160\003\041\000'; cat "$folder/key"; } > "$folder/key.der"
    for entry in $4; do
      case $entry in v1a,*) ;; *) continue ;; esac
      printf '%s' "${entry#v1a,}" | openssl base64 -d -A > "$folder/signature"
      if openssl pkeyutl -verify -pubin -keyform DER -inkey "$folder/key.der" -rawin -in "$folder/content" \
        -sigfile "$folder/signature" > /dev/null 2>&1; then echo genuine; exit 0; fi
    done
    ;;
  *) echo "The key starts with whsec_ or whpk_." >&2; exit 2 ;;
esac
echo "not genuine"
exit 1
