package imports

import (
	"cmp"
	"slices"
	"strings"
)

// A candidate is a package with the wanted name.
type candidate struct {
	path   string
	name   string // in its package clause
	rank   int    // lower is better, see compare
	fault  string // why it cannot be used, to follow its path in a sentence; empty if it can
	barred bool   // it has the selectors, but cannot be imported
}

// importAs is the import of the candidate under a name, which is left out if the path implies it.
func (c candidate) importAs(name string) Import {
	if c.name == name && (name == lastElement(c.path) || name == nameByPath(c.path)) {
		return Import{Path: c.path}
	}
	return Import{Name: name, Path: c.path}
}

// compare orders candidates of one level: by rank, by custom, by the number of path elements without a
// version, newer versions first, then alphabetically.
func (c candidate) compare(other candidate, name string) int {
	mine, version := cutVersion(c.path)
	its, otherVersion := cutVersion(other.path)
	return cmp.Or(
		cmp.Compare(c.rank, other.rank),
		cmp.Compare(customary(name, c.path), customary(name, other.path)),
		cmp.Compare(strings.Count(mine, "/"), strings.Count(its, "/")),
		cmp.Compare(otherVersion, version),
		cmp.Compare(c.path, other.path),
	)
}

// customary ranks packages of the standard library that share a name and some selectors; lower is
// more common.
//
//   - rand: Int alone is math/rand/v2's, as that of crypto/rand takes a rand.Reader too. Read is
//     crypto/rand's, as that of math/rand is deprecated. goimports takes crypto/rand for both.
//   - template: text/template, unless what only html/template has is wanted, such as template.HTML.
//   - json: encoding/json, as version 2 does other things under the same names.
func customary(name, path string) int {
	var order []string
	switch name {
	case "rand":
		order = []string{"math/rand/v2", "crypto/rand", "math/rand"}
	case "template":
		order = []string{"text/template", "html/template"}
	case "json":
		order = []string{"encoding/json", "encoding/json/v2"}
	}
	if at := slices.Index(order, path); at >= 0 {
		return at
	}
	return len(order)
}

// explainMissing explains why no package was found, and what to do.
func (s *Seeker) explainMissing(w want, near []candidate) string {
	if len(near) == 0 {
		why := "no package " + w.name + " with " + enumerate(w.selectors, "and") + " is in the standard library, this project or the modules that it requires"
		if s.modules != nil && len(s.modules.unread) > 0 {
			return why + ", of which some could not be looked into (" + strings.Join(s.modules.unread, "; ") + "): go mod download may help"
		}
		return why + "; if it is in another module, add that with go get, or import it explicitly"
	}
	var words []string
	for _, c := range near {
		words = append(words, c.path+" "+c.fault)
	}
	switch {
	case len(near) == 1 && near[0].barred:
		return "package " + words[0] + "; move what is wanted of it to a package that can be imported here"
	case len(near) == 1:
		return "package " + words[0] + "; correct what is wanted of it, or import the package that is meant explicitly"
	}
	return "no package " + w.name + " has " + enumerate(w.selectors, "and") + ": " + strings.Join(words, ", ") +
		"; import those that are meant explicitly, each under a name of its own"
}
