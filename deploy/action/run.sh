#!/usr/bin/env bash
# run.sh - runs ACTION_COMMAND inside limits, and writes what it used as the job's summary and the step's outputs.
#
# Reads ACTION_COMMAND, ACTION_MEMORY_MAX, ACTION_TIME_MAX, ACTION_TOOL, ACTION_ENFORCEMENT and ACTION_WORKING_DIRECTORY, of which all
# but the first may be empty; writes to GITHUB_STEP_SUMMARY and GITHUB_OUTPUT where they are set. The exit status is the
# command's own; 125 when plimsoll refused or failed.
set -uo pipefail

fail() {
	printf '::error title=plimsoll::%s\n' "$*"
	exit 125
}

command -v plimsoll >/dev/null || fail 'plimsoll is not on this runner: name a version to install, and its sha256'
command=${ACTION_COMMAND:-} place=${ACTION_WORKING_DIRECTORY:-}
[[ $command == *[![:space:]]* ]] || fail 'the command is empty'
[ -z "$place" ] || cd -- "$place" || fail 'the working-directory cannot be entered'

temp=$(mktemp -d "${RUNNER_TEMP:-${TMPDIR:-/tmp}}/plimsoll-run.XXXXXX") || fail 'there is no room for the report'
report=$temp/report.json
flags=(run --report "$report")
[ -z "${ACTION_MEMORY_MAX:-}" ] || flags+=("--memory-max=$ACTION_MEMORY_MAX")
[ -z "${ACTION_TIME_MAX:-}" ] || flags+=("--time-max=$ACTION_TIME_MAX")
[ -z "${ACTION_TOOL:-}" ] || flags+=("--tool=$ACTION_TOOL")
[ -z "${ACTION_ENFORCEMENT:-}" ] || flags+=("--enforcement=$ACTION_ENFORCEMENT")
unset "${!ACTION_@}" # they are none of the command's business

# A file, as the runner does it. It leaves the run's id, for a run inside the run would be a later one.
# shellcheck disable=SC2016 # for the file to expand
printf '%s%s\n' 'printf %s "$PLIMSOLL_RUN_ID" >"${0%/*}/id"; ' "$command" >"$temp/command.sh" || fail 'there is no room for the command'
status=0
plimsoll "${flags[@]}" -- bash --noprofile --norc -eo pipefail "$temp/command.sh" || status=$?

# value KEY: of the report's own keys, which stand on a line each (docs/report.md).
value() { sed -n "s/^  \"$1\": \"\{0,1\}\([^\",]*\)\"\{0,1\},\{0,1\}\$/\1/p" "$report" 2>/dev/null | head -n 1; }
outcome=$(value outcome) peak=$(value peak_bytes)
case $outcome in
oom | limit | refused) printf '::error title=plimsoll::The run came to: %s. The summary of the job says what was reached, and what to do.\n' "$outcome" ;;
esac

if [ -n "${GITHUB_OUTPUT:-}" ]; then
	printf '%s\n' "outcome=$outcome" "exit-code=$status" "peak-bytes=$peak" "report=$report" >>"$GITHUB_OUTPUT"
fi
if [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then
	{
		printf '### plimsoll: %s\n\n' "${outcome:-did not run}"
		if text=$(plimsoll runs "$(cat "$temp/id" 2>/dev/null || echo last)" 2>/dev/null); then
			# An indented block, which nothing in the text can end. GitHub takes 1 MiB.
			printf '%s\n' "$text" | head -c 60000 | sed 's/^/    /'
		else
			echo 'Nothing is known of the run: the log of the step says why.'
		fi
		echo
	} >>"$GITHUB_STEP_SUMMARY"
fi
exit "$status"
