# shellcheck shell=bash
# What the steps of the gate share. To be read with `.` from the top of the repository.

shared=${SHARED:-../shared}

# Everything is compiled once for all steps, without cgo as the binary that is released; only the race
# detector needs cgo.
export CGO_ENABLED=0

heading() { printf '\n==== %s\n' "$*"; }

# note TEXT: a line of a step that is worth reading also when the step has passed.
note() { printf '= %s\n' "$*"; }

# left_out TEXT: something the gate does only by night. It is told at the end.
left_out() { echo "$*" >>out/left-out; }

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
	git ls-files --cached --others --exclude-standard '*_test.go' | LC_ALL=C sort |
		while read -r file; do [ ! -f "$file" ] || printf '%s\0' "$file"; done |
		xargs -0 awk 'match($0, /^func Fuzz[A-Za-z0-9_]*\(/) {
			dir = FILENAME
			if (!sub("/[^/]*$", "", dir)) dir = "."
			print "./" dir, substr($0, 6, RLENGTH - 6)
		}'
}

# tests FLAGS ARGUMENT...: go test with FLAGS, in one word. What a test with the race detector builds itself
# is built as everything else.
tests() {
	local flags=$1 cgo=0 exec=() dir=.
	shift
	[[ " $* " != */e2e/clients\ * ]] || dir=e2e/clients # modules of their own
	[[ " $* " != */e2e/collector\ * ]] || dir=e2e/collector
	[[ " $* " != */e2e/helm\ * ]] || dir=e2e/helm
	[[ " $* " != */e2e/nats\ * ]] || dir=e2e/nats
	[[ " $* " != */deploy/check\ * ]] || dir=deploy/check
	[[ " $* " != */internal/release/packages\ * ]] || dir=internal/release/packages
	[[ " $flags " != *' -race '* ]] || cgo=1 exec=(-exec 'env CGO_ENABLED=0')
	# shellcheck disable=SC2086 # words
	CGO_ENABLED=$cgo go -C "$dir" test -timeout 600s $flags "${exec[@]}" -json "$@" </dev/null
}

# What `go test` ran in this step, and the flags that a second run of it needs too.
ran=() broken=0
declare -A flags_of=()

# tested NAME FLAGS ARGUMENT...: go test with FLAGS, in one word, and ARGUMENTs; what it says goes to out/NAME.json
# and is judged at the end. A test that fails does not end the step.
tested() {
	announced "$1" "$2"
	written "$@" || broken=1
}

# The two halves of it, for what is tested beside something else: announced NAME FLAGS says in the step's own shell what is to be judged, and
# written NAME FLAGS ARGUMENT... runs it wherever that is. It fails when go test ends badly and names no failure.
announced() {
	ran+=("out/$1.json")
	flags_of[out/$1.json]=$2
	rm -f "out/$1".{json,again.json}
}
written() {
	local file=out/$1.json flags=$2 status=0
	shift 2
	tests "$flags" "$@" >"$file" 2>"${file%.json}.err" || status=$?
	cat "${file%.json}.err"
	if [ "$status" != 0 ] && ! grep -q '"Action":"\(build-\)\{0,1\}fail"' "$file"; then
		echo "$file: go test ended with status $status and names no failure"
		return 1
	fi
}

# judged: tells what came of all that was tested, and whether the step has passed. A few tests that failed are
# run once more first, with nothing beside them: internal/testreport says which, and which never.
judged() {
	local file package tests
	go run ./internal/testreport -again "${ran[@]}" >out/again.txt || true # why not is told; the report fails
	while IFS=$'\t' read -r file package tests; do
		echo "-- once more, alone: $package $tests"
		tests "${flags_of[$file]}" -count=1 -p 1 -parallel 1 -run "$tests" "$package" >>"${file%.json}.again.json" || true
	done <out/again.txt
	go run ./internal/testreport "${ran[@]}" && [ "$broken" = 0 ]
}

# A step that is out of time says what it knows: where the step itself writes, not into the file of the tests it was in.
exec {said}>&1
out_of_time() { [ "${#ran[@]}" = 0 ] || go run ./internal/testreport "${ran[@]}" >&"$said" 2>&1 || true; }
