package journal_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/petrock/petrock/generators/journal"
)

func TestDiff(t *testing.T) {
	t.Parallel()
	const numbers = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n16\n17\n18\n19\n20\n"
	for _, c := range []struct{ name, path, before, after, want string }{
		{"new", "a.go", "-", "one\ntwo\n", "--- /dev/null\n+++ b/a.go\n@@ -0,0 +1,2 @@\n+one\n+two\n"},
		{"new and empty", "a.go", "-", "", "--- /dev/null\n+++ b/a.go\n"},
		{"gone", "a.go", "one\n", "-", "--- a/a.go\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-one\n"},
		{"emptied", "a.go", "one\n", "", "--- a/a.go\n+++ b/a.go\n@@ -1,1 +0,0 @@\n-one\n"},
		{"in the middle", "a/b.go", numbers, strings.Replace(numbers, "10\n", "ten\n", 1),
			"--- a/a/b.go\n+++ b/a/b.go\n@@ -7,7 +7,7 @@\n 7\n 8\n 9\n-10\n+ten\n 11\n 12\n 13\n"},
		{"near", "a", numbers, strings.NewReplacer("\n5\n", "\nfive\n", "\n12\n", "\n").Replace(numbers),
			"--- a/a\n+++ b/a\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n@@ -9,7 +9,6 @@\n 9\n 10\n 11\n-12\n 13\n 14\n 15\n"},
		{"far", "a", numbers, strings.NewReplacer("\n5\n", "\n", "\n13\n", "\n13\n13\n").Replace(numbers),
			"--- a/a\n+++ b/a\n@@ -2,7 +2,6 @@\n 2\n 3\n 4\n-5\n 6\n 7\n 8\n@@ -11,6 +10,7 @@\n 11\n 12\n 13\n+13\n 14\n 15\n 16\n"},
		{"at both ends", "a", numbers, "0\n" + strings.TrimSuffix(numbers, "20\n"),
			"--- a/a\n+++ b/a\n@@ -1,3 +1,4 @@\n+0\n 1\n 2\n 3\n@@ -17,4 +18,3 @@\n 17\n 18\n 19\n-20\n"},
		{"a function more", "a", "f {\n}\n\ng {\n}\n", "f {\n}\n\nh {\n}\n\ng {\n}\n",
			"--- a/a\n+++ b/a\n@@ -1,5 +1,8 @@\n f {\n }\n \n+h {\n+}\n+\n g {\n }\n"},
		{"a function less", "a", "f {\n}\n\nh {\n}\n\ng {\n}\n", "f {\n}\n\ng {\n}\n",
			"--- a/a\n+++ b/a\n@@ -1,8 +1,5 @@\n f {\n }\n \n-h {\n-}\n-\n g {\n }\n"},
		{"an end is missing", "a", "one\ntwo", "one\ntwo\n",
			"--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n one\n-two\n\\ No newline at end of file\n+two\n"},
		{"no ends at all", "a", "one\ntwo", "1\ntwo",
			"--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n-one\n+1\n two\n\\ No newline at end of file\n"},
		{"not text", "a", "one\n\x00", "one\n", "--- a/a\n+++ b/a\nBinary files differ\n"},
		{"not UTF-8", "a", "-", "\xff\n", "--- /dev/null\n+++ b/a\nBinary files differ\n"},
		{"a name of two words", "my a", "1\n", "2\n", "--- a/my a\t\n+++ b/my a\t\n@@ -1,1 +1,1 @@\n-1\n+2\n"},
		{"a name like a diff", "a\n+++ b/c", "1\n", "2\n", "--- \"a/a\\n+++ b/c\"\n+++ \"b/a\\n+++ b/c\"\n@@ -1,1 +1,1 @@\n-1\n+2\n"},
		{"carriage returns", "a", "1\r\n2\r\n", "1\n2\r\n", "--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n-1\r\n+1\n 2\r\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := file(c.path, c.before, c.after).Diff(); got != c.want {
				t.Errorf("got\n%swant\n%s", got, c.want)
			}
		})
	}
}

// file returns a change, in which "-" means that the file does not exist.
func file(path, before, after string) journal.Change {
	f := journal.Change{Path: path}
	if before != "-" {
		f.Before = []byte(before)
	}
	if after != "-" {
		f.After = []byte(after)
	}
	return f
}

// apply applies a diff, and is strict about each line of it.
func apply(before, diff string) (string, error) {
	lines := strings.SplitAfter(before, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	rest := strings.SplitAfter(diff, "\n")
	if len(rest) < 3 || !strings.HasPrefix(rest[0], "--- ") || !strings.HasPrefix(rest[1], "+++ ") || rest[len(rest)-1] != "" {
		return "", fmt.Errorf("no diff: %q", diff)
	}
	rest = rest[2 : len(rest)-1]
	var out []string
	at := 0
	for len(rest) > 0 {
		fromA, countA, fromB, countB, err := header(rest[0])
		if err != nil {
			return "", err
		}
		if fromA < at || fromA > len(lines) {
			return "", fmt.Errorf("%q is out of order", rest[0])
		}
		out = append(out, lines[at:fromA]...)
		at = fromA
		if fromB != len(out) {
			return "", fmt.Errorf("%q, and %d lines are before", rest[0], len(out))
		}
		for rest = rest[1:]; countA > 0 || countB > 0; rest = rest[1:] {
			if len(rest) == 0 {
				return "", fmt.Errorf("the diff ends within a hunk")
			}
			mark, line := rest[0][0], rest[0][1:]
			if len(rest) > 1 && rest[1] == "\\ No newline at end of file\n" {
				line = strings.TrimSuffix(line, "\n")
				rest = rest[1:]
			}
			if mark == ' ' || mark == '-' {
				if at >= len(lines) || lines[at] != line {
					return "", fmt.Errorf("line %d is not %q", at+1, line)
				}
				at++
				countA--
			}
			if mark == ' ' || mark == '+' {
				out = append(out, line)
				countB--
			}
		}
	}
	return strings.Join(append(out, lines[at:]...), ""), nil
}

// header reads "@@ -1,2 +1 @@": two line numbers, counted from zero, and the numbers of lines.
func header(line string) (fromA, countA, fromB, countB int, err error) {
	var a, b string
	if _, err := fmt.Sscanf(line, "@@ -%s +%s @@\n", &a, &b); err != nil {
		return 0, 0, 0, 0, fmt.Errorf("%q: %w", line, err)
	}
	read := func(text string) (from, count int) {
		if n, _ := fmt.Sscanf(text, "%d,%d", &from, &count); n == 1 {
			count = 1
		}
		if count > 0 {
			from--
		}
		return from, count
	}
	fromA, countA = read(a)
	fromB, countB = read(b)
	return fromA, countA, fromB, countB, nil
}

// check fails the test unless the diff of two texts turns one into the other.
func check(t *testing.T, before, after string) string {
	t.Helper()
	diff := file("x", before, after).Diff()
	if before == after {
		if diff != "" {
			t.Fatalf("the diff of equal texts is %q, want none", diff)
		}
		return ""
	}
	got, err := apply(before, diff)
	if err != nil || got != after {
		t.Fatalf("%q becomes %q (%v) by\n%s\nwant no error and %q", before, got, err, diff, after)
	}
	return diff
}

func FuzzDiff(f *testing.F) {
	f.Add("a\nb\nc\n", "a\nc\nd")
	f.Add("", "\n")
	f.Add("a\n\n\nb", "\n\na\nb\n")
	f.Fuzz(func(t *testing.T, before, after string) {
		if strings.Contains(before+after, "\x00") || !utf8.ValidString(before) || !utf8.ValidString(after) {
			return // not text
		}
		if before != "-" && after != "-" {
			check(t, before, after)
		}
	})
}

// The texts have few words, so that lines repeat, and some are large, to cover all cases of
// compare.
func TestDiffIsRight(t *testing.T) {
	t.Parallel()
	for seed := range uint64(600) {
		random := rand.New(rand.NewPCG(seed, 0))
		size := 1 + random.IntN(12)
		if seed%20 == 0 {
			size = 1500
		}
		before, after := texts(random, size, 1+random.IntN(2*size))
		check(t, before, after)
	}
}

// texts returns two random texts of about size lines; the second may be an edited copy of the
// first.
func texts(random *rand.Rand, size, words int) (before, after string) {
	text := func() []string {
		all := make([]string, random.IntN(size+1))
		for i := range all {
			all[i] = fmt.Sprint(random.IntN(words), "\n")
		}
		return all
	}
	a, b := text(), text()
	if random.IntN(2) == 0 {
		b = b[:0]
		for _, line := range a {
			switch random.IntN(4) {
			case 0:
			case 1:
				b = append(b, line, fmt.Sprint(random.IntN(words), "\n"))
			default:
				b = append(b, line)
			}
		}
	}
	before, after = strings.Join(a, ""), strings.Join(b, "")
	if random.IntN(3) == 0 {
		before = strings.TrimSuffix(before, "\n")
	}
	if random.IntN(3) == 0 {
		after = strings.TrimSuffix(after, "\n")
	}
	return before, after
}

// The diff of a few changed lines is short, and the diff of a large text is fast.
func TestLargeDiff(t *testing.T) {
	t.Parallel()
	const size = 10_000
	var plain, few, every, other, moved, same strings.Builder
	for i := range size {
		fmt.Fprintln(&plain, "line", i)
		fmt.Fprintln(&other, "other", i)
		fmt.Fprintln(&moved, "line", (i+size/2)%size)
		if i%1000 == 7 {
			fmt.Fprintln(&few, "new")
		}
		fmt.Fprintln(&few, "line", i)
		if i%2 == 0 {
			fmt.Fprintln(&every, "line", i)
		} else {
			fmt.Fprintln(&every, "new", i)
		}
		fmt.Fprintln(&same, i*i%7)
	}
	for _, c := range []struct {
		name          string
		before, after string
		most          int // lines put in
	}{
		{"few", plain.String(), few.String(), 10},
		{"every second", plain.String(), every.String(), size / 2},
		{"all", plain.String(), other.String(), size},
		{"moved", plain.String(), moved.String(), size / 2},
		{"new", "", plain.String(), size},
		{"few words", same.String(), strings.ReplaceAll(same.String(), "1\n2\n", "2\n"), size},
		{"few words, mixed", same.String(), strings.ReplaceAll(same.String(), "4\n", "2\n4\n1\n"), 2 * size},
	} {
		t.Run(c.name, func(t *testing.T) {
			begin := time.Now()
			diff := check(t, c.before, c.after)
			if took := time.Since(begin); took > 5*time.Second {
				t.Errorf("the diff took %v, want at most %v", took, 5*time.Second)
			}
			if added := strings.Count(diff, "\n+") - 1; added > c.most {
				t.Errorf("the diff adds %d lines, want at most %d", added, c.most)
			}
		})
	}
}

// git apply accepts the diffs.
func TestGitApply(t *testing.T) {
	t.Parallel()
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not here; TestDiffIsRight applies diffs without it")
	}
	for seed := range uint64(12) {
		random := rand.New(rand.NewPCG(seed, 1))
		before, after := texts(random, 40, 30)
		switch {
		case seed%4 == 0:
			before = "-"
		case seed%4 == 1:
			after = "-"
		}
		f := file("some folder/a.txt", before, after)
		if f.Action() == journal.None || len(f.Before)+len(f.After) == 0 {
			continue
		}
		dir := t.TempDir()
		path := filepath.Join(dir, filepath.FromSlash(f.Path))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if f.Before != nil {
			if err := os.WriteFile(path, f.Before, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.Command(git, "apply", "--whitespace=nowarn", "-")
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
		cmd.Stdin = strings.NewReader(f.Diff())
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s%s", err, out, f.Diff())
		}
		got, err := os.ReadFile(path)
		if (err != nil) != (f.After == nil) || !bytes.Equal(got, f.After) {
			t.Errorf("git makes %q (%v) of it, want %q", got, err, f.After)
		}
	}
}

func BenchmarkDiff(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 1))
	before, after := texts(random, 10_000, 20_000)
	f := file("x", before, after)
	b.ReportAllocs()
	for b.Loop() {
		f.Diff()
	}
}
