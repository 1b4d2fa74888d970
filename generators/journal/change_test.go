package journal_test

import (
	"testing"

	"github.com/petrock/petrock/generators/journal"
)

func TestAction(t *testing.T) {
	t.Parallel()
	text, other, empty := []byte("a\n"), []byte("b\n"), []byte{}
	for _, c := range []struct {
		before, after []byte
		want          journal.Action
	}{
		{nil, nil, journal.None},
		{nil, text, journal.Create},
		{nil, empty, journal.Create},
		{text, other, journal.Update},
		{text, empty, journal.Update},
		{empty, text, journal.Update},
		{text, text, journal.None},
		{empty, empty, journal.None},
		{text, nil, journal.Delete},
		{empty, nil, journal.Delete},
	} {
		file := journal.Change{Path: "x", Before: c.before, After: c.after}
		if got := file.Action(); got != c.want {
			t.Errorf("%q to %q is %s, want %s", c.before, c.after, got, c.want)
		}
		if (file.Diff() == "") != (c.want == journal.None) {
			t.Errorf("%q and %q: the diff is %q, want it empty: %t", c.before, c.after, file.Diff(), c.want == journal.None)
		}
	}
}

func TestHash(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		data []byte
		want string
	}{
		{nil, ""},
		{[]byte{}, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
		{[]byte("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
	} {
		if got := journal.Hash(c.data); got != c.want {
			t.Errorf("%q: %s, want %s", c.data, got, c.want)
		}
	}
}

func TestSort(t *testing.T) {
	t.Parallel()
	files := []journal.Change{{Path: "b", Mode: 1}, {Path: "a/b"}, {Path: "b", Mode: 2}, {Path: "a"}}
	journal.SortChanges(files)
	got := ""
	for _, f := range files {
		got += f.Path + " "
	}
	if got != "a a/b b b " || files[2].Mode != 1 {
		t.Errorf(`the order is %v; want the paths "a a/b b b", with equal paths in the given order`, files)
	}
}
