package campaign_test

import (
	"flag"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

var (
	seed   = flag.Uint64("seed", 1, "seed of random choices")
	sample = flag.Bool("sample", false, "also run a fifth of the tests that take long, such as those that compile SQLite, in short rounds; -seed chooses both")
	long   = flag.Bool("long", false, "run all tests with every case, and the long campaigns")
)

// rounds returns the size of a campaign: short by default, many with -long.
func rounds(short, many int) int {
	if *long {
		return many
	}
	return short
}

// runsSample reports whether tests run that take too long to run every time, or a sample of them.
func runsSample() bool { return *sample || *long }

// takesLong skips a test that takes too long to run every time. With -sample, -seed chooses one in
// five that runs nevertheless.
func takesLong(t *testing.T) {
	t.Helper()
	switch {
	case !runsSample():
		t.Skip("needs -sample or -long")
	case !*long && rand.New(rand.NewPCG(*seed, hash(t.Name()))).IntN(5) != 0:
		t.Skipf("seed %d does not choose it; -long runs all", *seed)
	}
}

func hash(name string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(name))
	return h.Sum64()
}

// pick returns n of the cases, chosen by -seed and the name of the test. With -long it returns all.
func pick[T any](t testing.TB, n int, all []T) []T {
	t.Helper()
	n = rounds(min(n, len(all)), len(all))
	picked := slices.Clone(all)
	rand.New(rand.NewPCG(*seed, hash(t.Name()))).Shuffle(len(picked), func(i, j int) { picked[i], picked[j] = picked[j], picked[i] })
	t.Logf("%d of %d cases with seed %d; -long runs all", n, len(all), *seed)
	return picked[:n]
}

// pickKeys is pick for the keys of a map.
func pickKeys[V any](t testing.TB, n int, all map[string]V) []string {
	t.Helper()
	return pick(t, n, slices.Sorted(maps.Keys(all)))
}
