package generators

import (
	"fmt"
	"go/types"
	"maps"
	"path"
	"regexp"
	"slices"

	"github.com/dave/jennifer/jen"

	"github.com/petrock/petrock/generators/gen"
)

// A speller writes types down, and keeps which packages that takes.
type speller struct {
	packages map[string]string // by import path, their names
}

// write is a type as Go source. It is one that JSON can hold, and whose names can be used.
func (s *speller) write(t types.Type) *jen.Statement {
	switch t := t.(type) {
	case *types.Alias:
		if t.Obj().Pkg() != nil && !t.Obj().Exported() {
			return s.write(t.Rhs())
		}
		return s.name(t.Obj(), t.TypeArgs())
	case *types.Named:
		return s.name(t.Obj(), t.TypeArgs())
	case *types.Pointer:
		return jen.Op("*").Add(s.write(t.Elem()))
	case *types.Slice:
		return jen.Index().Add(s.write(t.Elem()))
	case *types.Array:
		return jen.Index(jen.Lit(int(t.Len()))).Add(s.write(t.Elem()))
	case *types.Map:
		return jen.Map(s.write(t.Key())).Add(s.write(t.Elem()))
	case *types.Struct:
		return jen.StructFunc(func(g *jen.Group) {
			for i := range t.NumFields() {
				field := jen.Add(s.write(t.Field(i).Type()))
				if !t.Field(i).Embedded() {
					field = jen.Id(t.Field(i).Name()).Add(field)
				}
				if tag := t.Tag(i); tag != "" {
					field.Add(gen.RawString(tag))
				}
				g.Add(field)
			}
		})
	case *types.Interface:
		return jen.Any() // others hold no JSON
	}
	return jen.Id(t.String())
}

// name is a type by its name, with what it is for if it is generic.
func (s *speller) name(name *types.TypeName, of *types.TypeList) *jen.Statement {
	made := jen.Id(name.Name())
	if pkg := name.Pkg(); pkg != nil {
		s.packages[pkg.Path()] = pkg.Name()
		made = jen.Qual(pkg.Path(), name.Name())
	}
	var arguments []jen.Code
	for t := range of.Types() {
		arguments = append(arguments, s.write(t))
	}
	if len(arguments) > 0 {
		made.Types(arguments...)
	}
	return made
}

// declare tells a file the names of the packages, and returns them. None is one of those that are
// taken, or Go's own: a package that is called so gets another name.
func (s *speller) declare(file gen.GoFile, taken []string) map[string]bool {
	names := map[string]bool{}
	for _, imported := range slices.Sorted(maps.Keys(s.packages)) {
		name := s.packages[imported]
		for number := 2; names[name] || slices.Contains(taken, name) || isGo(name); number++ {
			name = fmt.Sprintf("%s%d", s.packages[imported], number)
		}
		names[name] = true
		if name == lastWord(imported) {
			file.ImportName(imported, name)
		} else {
			file.ImportAlias(imported, name)
		}
	}
	return names
}

// lastWord is what a package is called if it goes by its import path.
func lastWord(imported string) string {
	above, base := path.Split(imported)
	if above != "" && regexp.MustCompile(`^v[0-9]+$`).MatchString(base) {
		return path.Base(above)
	}
	return base
}
