#!/bin/sh
# install.sh - puts plimsoll from a release into a folder of yours, after its SHA-256 sum was checked.
#
#   sh install.sh                    the newest release, into ~/.local/bin
#   sh install.sh --version 0.1.0    this release
#   sh install.sh --to DIR           into DIR; if DIR ends in /bin, manual page and completions go into share beside it
#   sh install.sh --dry-run          says what would be done
#   sh install.sh --uninstall        removes what was installed (with the same --to)
#   sh install.sh --from URL         another place with the same files (default: the releases on GitHub)
#
# Needs curl or wget, tar, gzip, and sha256sum or shasum. Never asks for root. All is fetched and checked before
# the first file is put in its place, so that a failure leaves what was there. Exit status: 0, or 1 with one sentence.
set -eu

from=https://github.com/plimsoll/plimsoll/releases
to= version= dry= uninstall= work= staged=

say() { printf '%s\n' "$*"; }
fail() {
	printf 'install: %s\n' "$*" >&2
	exit 1
}

# clean removes what is not in its place yet, however the script ends.
clean() {
	status=$?
	trap - EXIT
	[ -z "$work" ] || rm -rf "$work"
	[ -z "$staged" ] || printf '%s' "$staged" | while IFS= read -r file; do rm -f "$file"; done
	exit "$status"
}

# fetch URL FILE: a whole file or a failure.
fetch() {
	if command -v curl >/dev/null 2>&1; then
		# A release is never asked for without TLS after it was asked for with it.
		case $1 in https:*) only='=https' ;; *) only='=http,https' ;; esac
		curl -fsSL --proto "$only" --proto-redir "$only" --connect-timeout 20 --max-time 600 --max-filesize 200000000 -o "$2" "$1" 2>"$work/said"
	elif command -v wget >/dev/null 2>&1; then
		tries=
		if wget --help 2>&1 | grep -q -e '--tries'; then tries=--tries=2; fi # not busybox
		# shellcheck disable=SC2086 # one word or none
		wget -q -T 20 $tries -O "$2" "$1" 2>"$work/said"
	else
		fail "neither curl nor wget is here; install one of them, or unpack a release by hand: $from"
	fi
}

sum() {
	if command -v sha256sum >/dev/null 2>&1; then
		sha256sum "$1" | cut -d ' ' -f 1
	elif command -v shasum >/dev/null 2>&1; then
		shasum -a 256 "$1" | cut -d ' ' -f 1
	else
		fail "neither sha256sum nor shasum is here, so that the download cannot be checked; install one of them"
	fi
}

# writable DIR: whether files can be put there; the folder may have to be made.
writable() {
	place=$1
	while [ ! -e "$place" ] && [ ! -L "$place" ]; do
		case $place in */*) place=${place%/*} ;; *) place=. ;; esac
		[ -n "$place" ] || place=/
	done
	[ -d "$place" ] && [ -w "$place" ] && [ -x "$place" ]
}

# pages lists what is installed beside the binary: the file in the archive, and its place below share.
pages() {
	say 'man/plimsoll.1 man/man1/plimsoll.1'
	say 'completions/plimsoll.bash bash-completion/completions/plimsoll'
	say 'completions/_plimsoll zsh/site-functions/_plimsoll'
	say 'completions/plimsoll.fish fish/vendor_completions.d/plimsoll.fish'
}

# stage FILE PLACE MODE: copies it beside its place, under another name.
stage() {
	mkdir -p "${2%/*}" || fail "the folder ${2%/*} cannot be made; choose another one with --to DIR"
	staged="$staged$2.new.$$
"
	{ cp "$1" "$2.new.$$" && chmod "$3" "$2.new.$$"; } || fail "${2%/*} cannot be written; free space there, or choose another folder with --to DIR. Nothing was changed"
}

remove() {
	[ -f "$to/plimsoll" ] || fail "there is no plimsoll in $to; nothing was removed: name its folder with --to DIR"
	writable "$to" || fail "$to cannot be written; nothing was removed: do it as the owner of that folder"
	list="$to/plimsoll"
	[ -z "$share" ] || list="$list
$(pages | while read -r _ place; do say "$share/$place"; done)"
	say "$list" | while IFS= read -r file; do
		[ -f "$file" ] || continue
		if [ -n "$dry" ]; then
			say "would remove $file"
		else
			rm -f "$file" || exit 1
			say "removed $file"
		fi
	done || fail "not all could be removed; try again as the owner of $to"
	say 'Settings and history stay: ~/.config/plimsoll, ~/.local/state/plimsoll, ~/.cache/plimsoll'
}

main() {
	while [ $# -gt 0 ]; do
		case $1 in
		--version=* | --to=* | --from=*)
			flag=${1%%=*} value=${1#*=}
			shift
			set -- "$flag" "$value" "$@"
			continue
			;;
		--version | --to | --from)
			{ [ $# -ge 2 ] && [ -n "$2" ]; } || fail "$1 wants a value; see --help"
			case $1 in --version) version=${2#v} ;; --to) to=$2 ;; --from) from=${2%/} ;; esac
			shift
			;;
		--dry-run) dry=1 ;;
		--uninstall) uninstall=1 ;;
		-h | --help)
			say 'usage: install.sh [--version X] [--to DIR] [--from URL] [--dry-run] [--uninstall]'
			say 'Puts plimsoll into DIR (default ~/.local/bin) after checking its SHA-256 sum. Needs no root.'
			exit 0
			;;
		*) fail "unknown argument $1; see --help" ;;
		esac
		shift
	done
	# What stands before an @ is no host: http://127.0.0.1:x@elsewhere leads elsewhere.
	authority=${from#*://}
	case ${authority%%[/?#]*} in *@*) fail "--from $from is not fetched: it has a user name; write the address without" ;; esac
	case $from in
	https://* | http://127.0.0.1[:/]* | http://localhost[:/]* | 'http://[::1]'*) ;;
	*) fail "--from $from is not fetched: only https:// is, and http:// on this machine" ;;
	esac
	case $version in *[!0-9A-Za-z.-]*) fail "--version $version is no version; write it as in --version 0.1.0" ;; esac
	if [ -z "$to" ]; then
		[ -n "${HOME:-}" ] || fail 'HOME is not set; name the folder with --to DIR'
		to=$HOME/.local/bin
	fi
	case $to in /*) ;; *) to=$(pwd)/$to ;; esac
	to=${to%/}
	share=
	case $to in */bin) share=${to%/bin}/share ;; esac
	if [ -n "$uninstall" ]; then
		remove
		exit 0
	fi

	os=$(uname -s) arch=$(uname -m)
	case $os in
	Linux) os=linux ;;
	Darwin) os=darwin ;;
	MINGW* | MSYS* | CYGWIN*) fail "on Windows use install.ps1, or the zip of a release: $from" ;;
	*) fail "there is no release for $os; build it with Go: go build ./cmd/plimsoll" ;;
	esac
	case $arch in
	x86_64 | amd64) arch=amd64 ;;
	aarch64 | arm64) arch=arm64 ;;
	*) fail "there is no release for $os on $arch, only for amd64 and arm64; build it with Go: go build ./cmd/plimsoll" ;;
	esac
	writable "$to" || fail "$to cannot be written; nothing was changed: choose another folder with --to DIR"
	[ ! -d "$to/plimsoll" ] || fail "$to/plimsoll is a folder; nothing was changed: choose another place with --to DIR"
	[ -z "$share" ] || pages | while read -r _ place; do
		writable "$share/${place%/*}" || fail "$share/${place%/*} cannot be written; nothing was changed: --to DIR with a folder not called bin installs the binary alone"
	done || exit 1

	trap clean EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM HUP
	work=$(mktemp -d) || fail 'no temporary folder can be made; free space, or set TMPDIR'

	release=$from/latest/download
	[ -z "$version" ] || release=$from/download/v$version
	fetch "$release/SHA256SUMS" "$work/SHA256SUMS" ||
		fail "$release/SHA256SUMS cannot be fetched ($(head -n 1 "$work/said")); look at the network and, with --version, at whether there is such a release"
	name=$(sed -n "s/^[0-9a-f]\{64\}  \(plimsoll-[0-9A-Za-z.-]*-$os-$arch\.tar\.gz\)\$/\1/p" "$work/SHA256SUMS" | head -n 1)
	[ -n "$name" ] || fail "$release/SHA256SUMS names no archive for $os-$arch; try another --version"
	want=$(sed -n "s/^\([0-9a-f]\{64\}\)  $name\$/\1/p" "$work/SHA256SUMS" | head -n 1)
	found=${name#plimsoll-} found=${found%-"$os-$arch".tar.gz}
	[ -z "$version" ] || [ "$version" = "$found" ] || fail "$release holds version $found and not $version; nothing was changed: try another --version"
	release=$from/download/v$found # the newest may be another one by now

	if [ -n "$dry" ]; then
		say "would fetch $release/$name"
		say "would check its sum $want"
		say "would install $to/plimsoll"
		[ -z "$share" ] || pages | while read -r _ place; do say "would install $share/$place"; done
		exit 0
	fi

	fetch "$release/$name" "$work/$name" || fail "$release/$name was not fetched whole ($(head -n 1 "$work/said")); nothing was changed: try again"
	got=$(sum "$work/$name")
	[ "$got" = "$want" ] || fail "the sum of $name is $got and not $want, so it is not the file that was released; nothing was changed: try again"
	tar -xzf "$work/$name" -C "$work" || fail "$name cannot be unpacked; nothing was changed: try again with more space in ${TMPDIR:-/tmp}"
	tree=$work/${name%.tar.gz}
	"$tree/plimsoll" version >"$work/version" 2>"$work/said" ||
		fail "$name does not start on this machine ($(head -n 1 "$work/said")); nothing was changed: if ${TMPDIR:-/tmp} forbids programs, set TMPDIR to another folder"

	stage "$tree/plimsoll" "$to/plimsoll" 755
	if [ -n "$share" ]; then
		while read -r file place; do
			stage "$tree/$file" "$share/$place" 644
		done <<-LIST
			$(pages)
		LIST
	fi
	printf '%s' "$staged" | while IFS= read -r file; do
		mv -f "$file" "${file%.new.*}" || exit 1
		say "installed ${file%.new.*}"
	done || fail "not all files could be put in their places; run this again"
	staged=
	say "$(head -n 1 "$work/version")"
	case :$PATH: in
	*":$to:"*)
		first=$(command -v plimsoll || true)
		[ "$first" = "$to/plimsoll" ] || say "PATH finds another one first: $first"
		say 'Next: plimsoll doctor'
		;;
	*) say "$to is not in PATH. Next: add it in your shell's profile: export PATH=\"$to:\$PATH\"" ;;
	esac
}

main "$@" # the last line: half of this script does nothing
