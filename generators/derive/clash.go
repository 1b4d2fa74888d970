package derive

import (
	"fmt"

	"github.com/petrock/petrock/generators/typecheck"
)

// Clashes refuses packages that have a tool of a name that one of the others has too, or one of those before them. Of
// those from which nothing can be derived nothing is known.
func Clashes(packages, others []*Package) {
	known := map[string]Component{}
	for _, pkg := range others {
		for _, c := range pkg.tools() {
			known[c.Name] = c
		}
	}
	for _, pkg := range packages {
		for _, c := range pkg.tools() {
			if other, taken := known[c.Name]; taken {
				pkg.Problems = append(pkg.Problems, typecheck.Diagnostic{File: c.File, Line: c.Line, Message: fmt.Sprintf("%s has the name %s, and so has %s in %s; give one of them another with a directive: //petrock:name", c.Func, c.Name, other.Func, other.File)})
			}
			known[c.Name] = c
		}
	}
}

// tools are what the program that ships offers of a package as tools.
func (p *Package) tools() []Component {
	var tools []Component
	for _, c := range p.Components {
		if len(p.Problems) == 0 && p.Wired && c.IsTool() {
			tools = append(tools, c)
		}
	}
	return tools
}
