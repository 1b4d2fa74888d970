package engine

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"strings"

	"github.com/petrock/petrock/generators/trial"
	"github.com/petrock/petrock/generators/typecheck"
)

// A Shortener is a result with a short form: without diffs, hashes, schemas and whole files. limit
// is how many entries of each list the short form has; the smaller it is, the shorter are its
// texts. If limit is 0, lists and texts are complete.
type Shortener interface{ Short(limit int) any }

// An Omission is the part of a result that describes what its short form leaves out.
type Omission struct {
	LeftOut string `json:"leftOut,omitempty"` // What the short form leaves out
}

func (o *Omission) setLeftOut(text string) { o.LeftOut = text }

// Shorten returns a copy of a result for [Shortener], with shorter lists and texts, and without
// details. An [Omission] in it describes the entries of lists that are left out.
func Shorten[T any](result *T, limit int) *T {
	c, short := &cutter{limit: limit}, *result
	c.cut(reflect.ValueOf(&short).Elem(), "")
	if o, ok := any(&short).(interface{ setLeftOut(string) }); ok && len(c.leftOut) > 0 {
		o.setLeftOut(fmt.Sprintf("Left out: %s. Set detail to get everything.", strings.Join(c.leftOut, ", ")))
	}
	return &short
}

// A cutter shortens a value, and notes the entries of lists that it leaves out.
type cutter struct {
	limit   int // of the entries of a list; 0 means no limit
	leftOut []string
}

// cut shortens the value of a field with a JSON name. It replaces lists and pointers by copies.
func (c *cutter) cut(v reflect.Value, name string) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			whole := v.Elem()
			v.Set(reflect.New(whole.Type()))
			v.Elem().Set(whole)
			c.cut(v.Elem(), name)
		}
	case reflect.Struct:
		c.cutStruct(v)
	case reflect.Slice:
		n := v.Len()
		if v.Type().Elem().Kind() == reflect.Uint8 { // a part of JSON is not valid
			if n > c.maxText() {
				v.SetZero()
			}
			return
		}
		if c.limit > 0 && n > c.limit {
			left := fmt.Sprintf("%d in %s", n-c.limit, name)
			if failures, ok := v.Interface().([]trial.TestFailure); ok {
				var tests []string
				for _, f := range failures[c.limit:] {
					tests = append(tests, f.Test)
				}
				left += " (" + cutText(strings.Join(tests, ", "), 800) + ")"
			}
			c.leftOut = append(c.leftOut, left)
			n = c.limit
		}
		list := reflect.MakeSlice(v.Type(), n, n)
		reflect.Copy(list, v)
		v.Set(list)
		for i := range n {
			c.cut(v.Index(i), name)
		}
	case reflect.String:
		v.SetString(cutText(cutSame(v.String(), c.maxText()), c.maxText()))
	}
}

func (c *cutter) cutStruct(v reflect.Value) {
	switch s := v.Addr().Interface().(type) {
	case interface{ omitDetails() }:
		s.omitDetails()
	case *typecheck.Diagnostic:
		if s.File != "" {
			s.Package = "" // the file names it
		}
		if len(s.Lines) > c.maxText() {
			s.Lines = "" // the message has the position
		}
	}
	for field, value := range v.Fields() {
		if field.IsExported() {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			c.cut(value, name)
		}
	}
}

// maxText returns the maximum length of a text, in bytes.
func (c *cutter) maxText() int {
	if c.limit == 0 {
		return math.MaxInt
	}
	return 150 + 50*c.limit
}

// cutText returns the first bytes of a text that is longer than limit, with an ellipsis.
func cutText(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + " …"
}

// cutSame shortens the beginning that what a test got has in common with what it wants, if the text
// is longer than limit.
func cutSame(text string, limit int) string {
	head, rest, hasGot := strings.Cut(text, "got ")
	got, want, hasWant := strings.Cut(rest, "\nwant ")
	got, want = strings.TrimSpace(got), strings.TrimSpace(want)
	if len(text) <= limit || !hasGot || !hasWant {
		return text
	}
	same := 0
	for same < min(len(got), len(want)) && got[same] == want[same] {
		same++
	}
	const shown = 30 // bytes before the difference
	if same > shown {
		got, want = "… "+strings.ToValidUTF8(got[same-shown:], ""), "… "+strings.ToValidUTF8(want[same-shown:], "")
	}
	half := max(limit-len(head), limit/2) / 2
	return head + "got  " + cutText(got, half) + "\nwant " + cutText(want, half)
}

func count(n int, noun string) string {
	switch {
	case n != 1 && strings.HasSuffix(noun, "ch"):
		noun += "es"
	case n != 1:
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

func joinFew(words []string) string {
	const maxListed = 8
	if len(words) > maxListed {
		return fmt.Sprintf("%s and %d more", strings.Join(words[:maxListed], ", "), len(words)-maxListed)
	}
	return strings.Join(words, ", ")
}

func joinOrNone(names []string) string { return cmp.Or(strings.Join(names, ", "), "none") }

// writeLines writes the entries of a list, one a line.
func writeLines[T any](out *strings.Builder, prefix string, list []T) {
	for _, entry := range list {
		fmt.Fprintf(out, "%s%v\n", prefix, entry)
	}
}

func page[T any](list []T, offset, limit int) []T {
	first := min(max(offset, 0), len(list))
	return list[first:min(first+max(limit, 1), len(list))]
}

// writePage writes which entries of a list are shown, and how to get the next ones.
func writePage(out *strings.Builder, shown, offset, total int, what string) {
	switch next := offset + shown; {
	case total == 0:
		fmt.Fprintf(out, "There is no %s.\n", what)
	case shown == 0:
		fmt.Fprintf(out, "There are %s; offset %d is past the end.\n", count(total, what), offset)
	case next < total:
		fmt.Fprintf(out, "%d to %d of %s; pass offset: %d to get the next ones.\n", offset+1, next, count(total, what), next)
	case offset > 0:
		fmt.Fprintf(out, "%d to %d of %s.\n", offset+1, next, count(total, what))
	}
}
