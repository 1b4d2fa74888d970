package typecheck

import (
	"bytes"
	"go/ast"
	"go/token"
	"go/types"
	"path"
	"strings"
)

// differing are the paths of the files that two views do not have in common.
func differing(before, after *View) map[string]bool {
	changed := map[string]bool{}
	for _, pair := range [2][2]*View{{before, after}, {after, before}} {
		for _, dir := range pair[0].Dirs() {
			for _, file := range pair[0].Files(dir) {
				if pair[1].File(file.Path) != file {
					changed[file.Path] = true
				}
			}
		}
	}
	return changed
}

func dirOf(file string) string { return path.Dir(file) }

// adds reports whether a change only adds to packages: no function in another file can mean
// something else after it. New files add, if what they declare hides nothing that Go predeclares
// and they give no method to a type from elsewhere; so do derived files that keep what they had.
func adds(before, after *View, changed map[string]bool) bool {
	for file := range changed {
		was, is := before.File(file), after.File(file)
		switch {
		case is == nil || is.Err != nil:
			return false
		case was == nil:
			if !harmless(declarations(is)) {
				return false
			}
		case !was.IsDerived() || !is.IsDerived() || was.Err != nil:
			return false
		default:
			now := declarations(is)
			if !harmless(now) {
				return false
			}
			for name, text := range declarations(was) {
				if now[name] != text {
					return false
				}
			}
		}
	}
	return true
}

// harmless reports whether declarations have no effect on other files but that the names are taken.
func harmless(declared map[string]string) bool {
	for name := range declared {
		if recv, _, ok := cutMethod(name); ok {
			if text, own := declared[recv]; !own || strings.HasPrefix(text, alias) {
				return false
			}
		} else if types.Universe.Lookup(name) != nil {
			return false
		}
	}
	return true
}

// alias is what the text of a type begins with that is another name for one.
const alias = "alias "

func cutMethod(name string) (recv, method string, ok bool) {
	for i := range name {
		if name[i] == '.' {
			return name[:i], name[i+1:], true
		}
	}
	return "", "", false
}

// declarations are the names that a file declares, methods as Type.Method, each with what others
// can see of it: a function's type, and nothing of a constant's value.
func declarations(file *File) map[string]string {
	declared := map[string]string{}
	for _, decl := range file.Syntax.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			name := decl.Name.Name
			if decl.Recv != nil && len(decl.Recv.List) == 1 {
				name = receiver(decl.Recv.List[0].Type) + "." + name
			}
			declared[name] = text(file, decl.Type)
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					declared[spec.Name.Name] = text(file, spec)
					if spec.Assign.IsValid() {
						declared[spec.Name.Name] = alias + text(file, spec)
					}
				case *ast.ValueSpec:
					kind := decl.Tok.String()
					if decl.Tok == token.VAR {
						kind = text(file, spec)
					}
					for _, name := range spec.Names {
						declared[name.Name] = kind
					}
				}
			}
		}
	}
	delete(declared, "_")
	delete(declared, "init")
	return declared
}

// receiver is the name of a receiver's type.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// text is what a node is in its file.
func text(file *File, n ast.Node) string {
	from := int(n.Pos() - file.Syntax.FileStart)
	to := int(n.End() - file.Syntax.FileStart)
	if from < 0 || to > len(file.Text) || from > to {
		return ""
	}
	return string(bytes.TrimSpace(file.Text[from:to]))
}
