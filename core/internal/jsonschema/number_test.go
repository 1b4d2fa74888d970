package jsonschema

import (
	"math/big"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/petrock/petrock/core/internal/decimal"
)

func TestNumberKeywords(t *testing.T) {
	run(t, []check{
		{"minimum", `{"minimum":1.1}`, `1.1`, ""},
		{"minimum bad", `{"minimum":1.1}`, `0.6`, "must be at least 1.1, got 0.6"},
		{"minimum below zero", `{"minimum":-2}`, `-2.0001`, "must be at least -2, got -2.0001"},
		{"minimum of text", `{"minimum":1}`, `"x"`, ""},
		{"maximum", `{"maximum":3.0}`, `3`, ""},
		{"maximum bad", `{"properties":{"limit":{"maximum":100}}}`, `{"limit":250}`, "limit: must be at most 100, got 250"},
		{"maximum exact", `{"maximum":9007199254740992}`, `9007199254740993`, "must be at most 9007199254740992, got 9007199254740993"},
		{"maximum exact decimals", `{"maximum":0.1}`, `0.10000000000000000000000001`, "must be at most 0.1, got 0.10000000000000000000000001"},
		{"exclusiveMinimum", `{"exclusiveMinimum":1.1}`, `1.2`, ""},
		{"exclusiveMinimum bad", `{"exclusiveMinimum":0}`, `-0.0`, "must be more than 0, got -0.0"},
		{"exclusiveMaximum", `{"exclusiveMaximum":3}`, `2.9999999999999999999`, ""},
		{"exclusiveMaximum bad", `{"exclusiveMaximum":3}`, `3.0`, "must be less than 3, got 3.0"},
		{"minimum over maximum", `{"minimum":3,"maximum":1}`, `2`, "must be at least 3, got 2\nmust be at most 1, got 2"},
		{"big negative exclusive", `{"exclusiveMinimum":-972783798187987123879878123.18878137}`, `-972783798187987123879878123.188781371`,
			"must be more than -972783798187987123879878123.18878137, got -972783798187987123879878123.188781371"},

		{"multipleOf", `{"multipleOf":2}`, `10`, ""},
		{"multipleOf bad", `{"multipleOf":2}`, `7`, "must be a multiple of 2, got 7"},
		{"multipleOf negative", `{"multipleOf":2}`, `-4.0`, ""},
		{"multipleOf 0", `{"multipleOf":1.5}`, `0`, ""},
		{"multipleOf 1.5", `{"multipleOf":1.5}`, `4.5`, ""},
		{"multipleOf 1.5 bad", `{"multipleOf":1.5}`, `35`, "must be a multiple of 1.5, got 35"},
		{"multipleOf 0.1", `{"multipleOf":0.1}`, `0.3`, ""},
		{"multipleOf 0.1 bad", `{"multipleOf":0.1}`, `0.35`, "must be a multiple of 0.1, got 0.35"},
		{"multipleOf 0.01", `{"multipleOf":0.01}`, `19.99`, ""},
		{"multipleOf 0.0001", `{"multipleOf":0.0001}`, `0.0075`, ""},
		{"multipleOf of a large number", `{"multipleOf":0.5}`, `1e308`, ""},
		{"multipleOf small", `{"multipleOf":1e-8}`, `12391239123`, ""},
		{"multipleOf large", `{"multipleOf":1e300}`, `3e300`, ""},
		{"multipleOf large bad", `{"multipleOf":3e300}`, `1e301`, "must be a multiple of 3e300, got 1e301"},
	})
}

// Huge exponents must not be expensive.
func TestHugeExponents(t *testing.T) {
	const far, farther = `1e999999999`, `1e9999999999999999999999999999999`
	run(t, []check{
		{"maximum", `{"maximum":100}`, far, "must be at most 100, got " + far},
		{"maximum farther", `{"maximum":100}`, farther, "must be at most 100, got " + farther},
		{"minimum", `{"minimum":100}`, far, ""},
		{"minimum negative", `{"minimum":100}`, "-" + far, "must be at least 100, got -" + far},
		{"small", `{"exclusiveMinimum":0}`, `1e-999999999`, ""},
		{"zero with an exponent", `{"const":0}`, `0e999999999`, ""},
		{"limit itself", `{"maximum":1e999999999}`, `5`, ""},
		{"integer", `{"type":"integer"}`, farther, ""},
		{"fraction", `{"type":"integer"}`, `1e-99999999999999999999`, "must be an integer, got 1e-99999999999999999999"},
		{"multipleOf 7", `{"multipleOf":7}`, `1e999999999`, "must be a multiple of 7, got 1e999999999"},
		{"multipleOf 8", `{"multipleOf":8}`, `1e999999999`, ""},
		{"multipleOf of a fraction", `{"multipleOf":8}`, `1e-999999999`, "must be a multiple of 8, got 1e-999999999"},
		{"const", `{"const":1e1000000}`, `10e999999`, ""},
		{"const bad", `{"const":1e1000000}`, `10e1000000`, "must be 1e1000000, got 10e1000000"},
		{"unique", `{"uniqueItems":true}`, `[1e999999,10e999998]`, "must not contain duplicate items (items 0 and 1)"},
		{"count", `{"minLength":1e999999999}`, `"x"`, "must have at least 2147483647 characters, got 1"},
	})
	long := strings.Repeat("7", 1<<20)
	run(t, []check{
		{"long number", `{"maximum":1e1000000,"multipleOf":7,"enum":[0,` + long + `]}`, long,
			"must be at most 1e1000000, got " + long[:60] + "…"},
	})
}

// Decimals are compared with big.Rat, which is exact too but expands exponents.
func TestDecimalAgainstRat(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	number := func() string {
		var b strings.Builder
		if random.IntN(3) == 0 {
			b.WriteByte('-')
		}
		if random.IntN(3) == 0 {
			b.WriteByte('0')
		} else {
			b.WriteString(strconv.Itoa(1 + random.IntN(1200)))
		}
		if random.IntN(2) == 0 {
			b.WriteString([]string{".0", ".5", ".25", ".250", ".050", ".001", ".10"}[random.IntN(7)])
		}
		if random.IntN(2) == 0 {
			b.WriteString([]string{"e0", "E1", "e+2", "e-1", "e-2", "e3", "e-03"}[random.IntN(7)])
		}
		return b.String()
	}
	for range 50_000 {
		x, y := number(), number()
		a, b := decimal.Parse(nil, []byte(x)), decimal.Parse(nil, []byte(y))
		p, _ := new(big.Rat).SetString(x)
		q, _ := new(big.Rat).SetString(y)
		if got, want := a.Compare(b), p.Cmp(q); got < 0 != (want < 0) || got > 0 != (want > 0) {
			t.Fatalf("compare %s with %s = %d, want %d", x, y, got, want)
		}
		if got, want := string(new(validation).canonical(nil, []byte(x))) == string(new(validation).canonical(nil, []byte(y))), p.Cmp(q) == 0; got != want {
			t.Fatalf("%s and %s have equal forms: %v, want %v", x, y, got, want)
		}
		if a.IsWhole() != p.IsInt() {
			t.Fatalf("IsWhole() of %s = %v, want %v", x, a.IsWhole(), p.IsInt())
		}
		if b.Sign > 0 {
			if got, want := isMultiple(a, b), new(big.Rat).Quo(p, q).IsInt(); got != want {
				t.Fatalf("%s is a multiple of %s: %v, want %v", x, y, got, want)
			}
		}
	}
}
