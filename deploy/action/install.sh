#!/usr/bin/env bash
# install.sh - puts a release of plimsoll into a folder of this job, after its SHA-256 sum was checked.
#
# Reads ACTION_VERSION, ACTION_SHA256 (may be empty: then SHA256SUMS of the release counts), ACTION_FROM, and the runner's own
# RUNNER_TEMP and GITHUB_PATH. Nothing is unpacked before the sum is right. Exit status: 0, or 1 with one sentence.
set -euo pipefail

fail() {
	printf '::error title=plimsoll::%s\n' "$*"
	exit 1
}

version=${ACTION_VERSION#v} sum=${ACTION_SHA256:-} from=${ACTION_FROM:-https://github.com/plimsoll/plimsoll/releases}
from=${from%/}
[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+([.-][0-9A-Za-z.-]+)?$ ]] || fail 'version is no version; write it as in 0.1.0'
[[ -z $sum || $sum =~ ^[0-9a-f]{64}$ ]] || fail 'sha256 is no SHA-256 sum: 64 hexadecimal digits'
# What stands before an @ is no host: http://127.0.0.1:x@elsewhere leads elsewhere.
authority=${from#*://}
case ${authority%%[/?#]*} in *@*) fail 'from is not fetched: it has a user name; write the address without' ;; esac
case $from in
https://*) protocol='=https' ;;
http://127.0.0.1[:/]* | http://localhost[:/]*) protocol='=http,https' ;;
*) fail 'from is not fetched: only https:// is, and http:// on the runner itself' ;;
esac
case $(uname -s) in
Linux) system=linux ;;
Darwin) system=darwin ;;
*) fail 'this action runs on runners with Linux or macOS' ;;
esac
case $(uname -m) in
x86_64 | amd64) processor=amd64 ;;
aarch64 | arm64) processor=arm64 ;;
*) fail "there is no release for the processor $(uname -m)" ;;
esac
work=$(mktemp -d "${RUNNER_TEMP:-${TMPDIR:-/tmp}}/plimsoll.XXXXXX")
name=plimsoll-$version-$system-$processor.tar.gz
fetch() { curl -fsSL --retry 2 --proto "$protocol" --proto-redir "$protocol" --connect-timeout 20 --max-time 300 --max-filesize 200000000 -o "$2" "$1"; }

if [ -z "$sum" ]; then
	fetch "$from/download/v$version/SHA256SUMS" "$work/SHA256SUMS" || fail "the sums of release $version cannot be fetched; look whether there is such a release"
	sum=$(sed -n "s/^\([0-9a-f]\{64\}\) [ *]$name\$/\1/p" "$work/SHA256SUMS" | head -n 1)
	[ -n "$sum" ] || fail "release $version has no archive for $system on $processor"
	echo "The sum is the one in the release's own SHA256SUMS. To hold on to this very archive: sha256: $sum"
fi
fetch "$from/download/v$version/$name" "$work/$name" || fail "$name cannot be fetched; look whether there is such a release"
if command -v sha256sum >/dev/null; then got=$(sha256sum "$work/$name"); else got=$(shasum -a 256 "$work/$name"); fi
[ "${got%% *}" = "$sum" ] || fail "$name has the SHA-256 sum ${got%% *} and not $sum, so it is not the file that was meant; nothing was installed"
mkdir "$work/bin"
tar -xzf "$work/$name" -C "$work/bin" || fail "$name cannot be unpacked"
program=$(find "$work/bin" -type f -name plimsoll -print | head -n 1)
[ -n "$program" ] || fail "$name holds no plimsoll"
"$program" version || fail "the program of $name does not run here"
echo "${program%/*}" >>"${GITHUB_PATH:-/dev/null}"
