# shellcheck shell=bash
# What the steps of the gate share. To be read with `.` from the top of the repository.

shared=${SHARED:-../shared}

heading() { printf '\n==== %s\n' "$*"; }

# note TEXT: a line of a step that is worth reading also when the step has passed.
note() { printf '= %s\n' "$*"; }

# missing TEXT: this step cannot run here. In CI that is a failure: a gate that passes
# because a tool is not installed has checked nothing.
missing() {
	echo "cannot run: $*"
	[ "${CI:-}" = true ] && exit 1
	exit 77
}

# timed WHAT COMMAND...: run it, say how long it took. Its output is as it comes.
timed() {
	local what=$1 begin=$SECONDS
	shift
	echo "-- $what"
	"$@"
	echo "-- $what: $((SECONDS - begin)) s"
}

# readme_commands: the first two commands in the code blocks of README.md.
readme_commands() {
	awk '/^[ \t]*```/ { code = !code; next }
		code { sub(/^[ \t]*(\$ )?/, ""); sub(/[ \t\r]+$/, "") }
		code && $0 != "" && !/^#/ { print; if (++n == 2) exit }' README.md
}

# fuzz_targets: "./package FuzzName" for every fuzz target, sorted. Read from the text,
# so that a target in a file for another system is seen too, and fails loudly.
fuzz_targets() {
	git ls-files --cached --others --exclude-standard '*_test.go' | LC_ALL=C sort | while read -r file; do
		[ -f "$file" ] || continue
		sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$file" | sed "s|^|./$(dirname "$file") |"
	done
}
