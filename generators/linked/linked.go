// Package linked lists petrock's generators: those of every project, and those of its parts. It
// changes when a part comes or goes.
package linked

import (
	"slices"

	"github.com/petrock/petrock/generators"
	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/purity"
	"github.com/petrock/petrock/generators/typecheck"
	"github.com/petrock/petrock/generators/versions"
)

// All returns the generators.
func All() []gen.Generator { return slices.Concat(generators.All(), versions.All()) }

// Purity checks features. It is nil without them.
func Purity() typecheck.PurityFinder { return purity.Find }
