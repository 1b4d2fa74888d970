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
		got := int64(0)
		err := newSizeFlag(&got).Set(test.text)
		if got != test.want || (err == nil) != (test.says == "") || err != nil && !strings.Contains(err.Error(), test.says) {
			t.Errorf("%q is %d, want %d: %v", test.text, got, test.want, err)
		}
	}
	n := 5 << 10
	if size := newSizeFlag(&n); size.String() != "5KiB" || size.Type() != "size" || (sizeFlag[int]{}).String() != "0" {
		t.Errorf("5 KiB is %s", size)
	}
}
