package gen

import (
	"math"
	"strings"
)

// Other is a value that is right for the field too, and another one than [Field.Sample], for generated tests. There is none,
// and false, if the limits leave no other, or for what is in lists and maps.
func (f Field) Other() (any, bool) {
	switch f.Type.Kind {
	case KindString:
		const other = "changed"
		n := f.size(len(other))
		return strings.Repeat(other, n/len(other)+1)[:n], n > 0
	case KindInt, KindInt64:
		n := f.Sample().(int64)
		switch {
		case n < math.MaxInt64 && (f.Max == "" || n < whole(f.Max)):
			return n + 1, true
		case n > math.MinInt64 && (f.Min == "" || n > whole(f.Min)):
			return n - 1, true
		}
	case KindFloat:
		n := f.Sample().(float64)
		for _, other := range []float64{n + 1, n - 1, n/2 + float(f.Min)/2, n/2 + float(f.Max)/2} {
			if other != n && (f.Min == "" || other >= float(f.Min)) && (f.Max == "" || other <= float(f.Max)) {
				return other, true
			}
		}
	case KindBool:
		return false, true
	case KindTime:
		return "2026-02-03T16:05:06Z", true
	case KindEnum:
		last := f.Type.Values[len(f.Type.Values)-1].Text
		return last, len(f.Type.Values) > 1
	}
	return nil, false
}
