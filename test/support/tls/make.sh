# Makes the certificates of the tests anew, in this folder: sh make.sh
set -eu
cd "$(dirname "$0")"
key() { openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$1.key" 2>/dev/null; }
signed() {
  key "$1"
  openssl req -new -key "$1.key" -subj "/CN=hookspan test $1" -out "$1.csr"
  printf '%s\n' "$2" >"$1.ext"
  openssl x509 -req -in "$1.csr" -CA authority.pem -CAkey authority.key -days 36500 -extfile "$1.ext" -out "$1.pem" 2>/dev/null
  rm "$1.csr" "$1.ext"
}
self() {
  key "$1"
  openssl req -x509 -new -key "$1.key" -subj "/CN=hookspan test $1" -days 36500 -out "$1.pem"
}
self authority
self stranger
signed server 'subjectAltName=DNS:localhost,IP:127.0.0.1'
signed client 'extendedKeyUsage=clientAuth'
rm -f authority.key authority.srl
