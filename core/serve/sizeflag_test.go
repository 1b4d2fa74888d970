package serve

import (
	"strings"
	"testing"
)

func TestSizeFlag(t *testing.T) {
	for _, test := range []struct {
		text string
		want int64
		says string // the error
	}{
		{"0", 0, "above 0"},
		{"1048576", 1 << 20, ""},
		{"64KiB", 64 << 10, ""},
		{"1mib", 1 << 20, ""},
		{"2 GiB", 2 << 30, ""},
		{"", 0, "such as"},
		{"KiB", 0, "such as"},
		{"1MB", 0, "1MiB"},
		{"1.5MiB", 0, "such as"},
		{"-1", 0, "above 0"},
		{"-1KiB", 0, "above 0"},
		{"9223372036854775807KiB", 0, "too large"},
		{"99999999999999999999", 0, "such as"},
	} {
		var size sizeFlag
		err := size.Set(test.text)
		if got := int64(size); got != test.want || (err == nil) != (test.says == "") || err != nil && !strings.Contains(err.Error(), test.says) {
			t.Errorf("Set(%q) = %v and %d, want %q and %d", test.text, err, got, test.says, test.want)
		}
	}
	for size, want := range map[sizeFlag]string{0: "0", 1023: "1023", 5 << 10: "5KiB", 3 << 40: "3072GiB"} {
		if got := size.String(); got != want {
			t.Errorf("String of %d = %s, want %s", int64(size), got, want)
		}
	}
}
