package decimal

import "testing"

func TestParse(t *testing.T) {
	for _, test := range []struct {
		text   string
		digits string
		sign   int
		exp    int
		whole  bool
	}{
		{"0", "", 0, 0, true},
		{"-0.0e7", "", 0, 0, true},
		{"120", "12", 1, 3, true},
		{"-1.250", "125", -1, 1, false},
		{"0.0012", "12", 1, -2, false},
		{"12e-1", "12", 1, 1, false},
		{"1.5E+1", "15", 1, 2, true},
		{"1e99999999999999999999", "1", 1, maxExponent + 1, true},
	} {
		d := Parse(nil, []byte(test.text))
		if d.Sign != test.sign || string(d.Digits) != test.digits || d.Exponent != test.exp || d.IsWhole() != test.whole {
			t.Errorf("Parse(%s) = %d %s e%d, whole %t, want %d %s e%d, whole %t",
				test.text, d.Sign, d.Digits, d.Exponent, d.IsWhole(), test.sign, test.digits, test.exp, test.whole)
		}
	}
}

func TestCompare(t *testing.T) {
	ascending := []string{"-1e999999999", "-2", "-1.5", "-1e-999999999", "0", "1e-999999999", "0.09", "0.1", "9", "10.0", "1e2", "1e999999999"}
	for i, a := range ascending {
		for j, b := range ascending {
			want := 0
			if i < j {
				want = -1
			} else if i > j {
				want = 1
			}
			if got := Parse(nil, []byte(a)).Compare(Parse(nil, []byte(b))); got != want {
				t.Errorf("%s.Compare(%s) = %d, want %d", a, b, got, want)
			}
		}
	}
}
