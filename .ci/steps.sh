# Functions that .ci/run and .ci/long share. Source this file from the root of the repository.

set -euo pipefail
exec </dev/null

current=setup
times=()
work=$(mktemp -d)

# step HEADLINE COMMAND... runs a command and records how long it took.
step() {
	current=$1
	shift
	printf '\n==> %s\n' "$current"
	local start=$SECONDS
	"$@"
	times+=("$(printf '%5ds  %s' $((SECONDS - start)) "$current")")
}

# skip HEADLINE REASON records that a step was left out, and why.
skip() {
	printf '\n==> %s: skipped, %s\n' "$1" "$2"
	times+=("$(printf '%6s  %s' - "$1 (skipped: $2)")")
}

# finish removes temporary files and prints how long each step took.
finish() {
	local status=$?
	rm -rf "$work"
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
