# Functions that .ci/run and .ci/long share. Source this file from the root of the repository, with the
# script's arguments:
#
#   SCRIPT            run every step
#   SCRIPT NAME...    run the named steps, in the order of the script
#   SCRIPT --list     print the names of the steps
#
# A step that fails ends the script.

set -euo pipefail
exec </dev/null

wanted=("$@")
current=setup
known=()
times=()
work=$(mktemp -d)

# step NAME HEADLINE COMMAND... runs a command, if the step is wanted, and records how long it took.
step() {
	local name=$1
	if selected "$name" "$2"; then
		current=$name
		printf '\n==> %s: %s\n' "$name" "$2"
		local start=$SECONDS
		"${@:3}"
		times+=("$(printf '%5ds  %-14s %s' $((SECONDS - start)) "$name" "$2")")
	fi
}

# skip NAME HEADLINE REASON records that a step was left out, and why.
skip() {
	if selected "$1" "$2"; then
		printf '\n==> %s: skipped, %s\n' "$1" "$3"
		times+=("$(printf '%6s  %-14s %s' - "$1" "$2 (skipped: $3)")")
	fi
}

# selected NAME HEADLINE reports whether to run a step. With --list it prints the step instead.
selected() {
	known+=("$1")
	if [[ ${wanted[*]-} == --list ]]; then
		printf '%-14s %s\n' "$1" "$2"
		return 1
	fi
	is_wanted "$1"
}

# is_wanted NAME reports whether the arguments select a step.
is_wanted() { ((${#wanted[@]} == 0)) || [[ " ${wanted[*]} " == *" $1 "* ]]; }

# with_postgres NAME HEADLINE COMMAND... is a step that runs only if PostgreSQL is or can be installed.
with_postgres() {
	if is_wanted "$1" && ! .ci/postgres true >/dev/null; then
		skip "$1" "$2" 'PostgreSQL could not be installed'
	else
		step "$@"
	fi
}

# unknown_steps prints the wanted steps that the script does not have.
unknown_steps() {
	local name
	for name in "${wanted[@]}"; do
		[[ $name == --list || " ${known[*]} " == *" $name "* ]] || printf '%s ' "$name"
	done
}

# finish removes temporary files and prints how long each step took.
finish() {
	local status=$?
	rm -rf "$work"
	[[ ${wanted[*]-} != --list ]] || return "$status"
	if ((status == 0)) && [[ -n $(unknown_steps) ]]; then
		echo "${0##*/}: unknown steps: $(unknown_steps); ${0##*/} --list prints the names"
		exit 2
	fi
	printf '\n'
	((${#times[@]} == 0)) || printf '%s\n' "${times[@]}"
	printf '%5ds  in total\n' "$SECONDS"
	if ((status == 0)); then
		echo "${0##*/}: all steps passed"
	else
		echo "${0##*/}: FAILED in step: $current"
	fi
}
trap finish EXIT
trap 'exit 130' INT  # so that finish sees a failure
trap 'exit 143' TERM

# have_race reports whether this machine can build with -race.
have_race() {
	local cc
	cc=$(go env CC)
	[[ $(go env CGO_ENABLED) == 1 ]] && command -v "${cc%% *}" >/dev/null
}

# fuzz_all FUZZTIME [CAMPAIGN_FUZZTIME] runs every fuzz target for so long.
fuzz_all() {
	local package name runs found=0
	for package in $(go list ./core/... ./generators/... ./cmd/petrock/internal/...); do
		runs=$1
		[[ $package != */campaign ]] || runs=${2:-$1}
		for name in $(go test -list '^Fuzz' "$package" | grep '^Fuzz' || true); do
			printf -- '--> %s %s\n' "$package" "$name"
			go test -run '^$' -fuzz "^$name\$" -fuzztime "$runs" "$package"
			found=$((found + 1))
		done
	done
	if ((found == 0)); then
		echo 'no fuzz target found'
		return 1
	fi
}
