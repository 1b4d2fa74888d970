package gen

import (
	"errors"
	"fmt"
	"strings"
)

// A EnumValue is one of the values that an enum has.
type EnumValue struct {
	Text string // the value itself, in JSON
	Go   string // what its constant in Go ends with: in-progress is InProgress
}

// What an enum may hold.
const (
	mostValues   = 64
	longestValue = 64
)

// parseValues reads what follows "enum(". Spaces around the values are not of them.
func parseValues(text string) ([]EnumValue, error) {
	list, closed := strings.CutSuffix(text, ")")
	switch {
	case !closed:
		return nil, errors.New("enum( is not closed; end it with )")
	case strings.TrimSpace(list) == "":
		return nil, errors.New("enum() has no values; try enum(open,done)")
	case strings.Count(list, ",") >= mostValues:
		return nil, fmt.Errorf("enum has %d values, and %d is the most; take a string instead", strings.Count(list, ",")+1, mostValues)
	}
	var values []EnumValue
	seen := map[string]string{} // texts by their Go
	for value := range strings.SplitSeq(list, ",") {
		value = strings.Trim(value, " ")
		if err := checkValue(value); err != nil {
			return nil, err
		}
		name, err := NameOfValue(value)
		if err != nil {
			return nil, err
		}
		other, taken := seen[name.Go()]
		switch {
		case taken && other == value:
			return nil, fmt.Errorf("enum has the value %q twice; once is enough", value)
		case taken:
			return nil, fmt.Errorf("enum has the values %q and %q, which would both be called %s in Go; change one of them", other, value, name.Go())
		}
		seen[name.Go()] = value
		values = append(values, EnumValue{Text: value, Go: name.Go()})
	}
	return values, nil
}

func checkValue(value string) error {
	bad := strings.IndexFunc(value, func(r rune) bool { return !IsLetter(r) && !IsDigit(r) && !strings.ContainsRune(" _./:+@-", r) })
	switch {
	case value == "":
		return errors.New("enum has an empty value; write it without commas too many")
	case len(value) > longestValue:
		return fmt.Errorf("enum value %q has %d bytes, and %d is the most", Shorten(value), len(value), longestValue)
	case bad >= 0:
		return fmt.Errorf("enum value %q holds %s; letters of English, digits, spaces and _./:+@- are what it may be made of", value, first(value[bad:]))
	case !IsLetter(rune(value[0])) && !IsDigit(rune(value[0])):
		return fmt.Errorf("enum value %q has to begin with a letter or a digit", value)
	}
	return nil
}
