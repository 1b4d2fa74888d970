package generators

import (
	"fmt"
	"go/types"
	"path"
	"slices"

	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/gen"
)

// newDowngrade appends func Downgrade to the file of an old version. renamed are the new names of
// fields, by their old ones.
func newDowngrade(p gen.Project, in VersionInput, renamed map[string]string) (gen.Draft, error) {
	if len(in.Drop)+len(in.Default) > 0 || in.Body != "" || in.ReadFirst {
		return gen.Draft{}, fmt.Errorf("%s is for a version that exists; generate the version first", p.Option("downgrade"))
	}
	v, err := p.OldVersion(in.Name)
	if err != nil {
		return gen.Draft{}, err
	}
	old, next := v.Type.Obj().Name(), v.Next.Obj().Name()
	signature := fmt.Sprintf("func (c %s) Downgrade() %s", next, old)
	code, functions := &body{}, ""
	if in.DowngradeBody != "" {
		code, err = parseBody(p.Option("downgrade_body"), in.DowngradeBody)
	} else if code.text, functions, err = downgradeCode(p, v, renamed); err != nil {
		err = fmt.Errorf("%s: cannot convert %s to %s: %w; set %s to the statements of %s", v.EventType, next, old, err, p.Option("downgrade_body"), signature)
	}
	if err != nil {
		return gen.Draft{}, err
	}
	file := v.File
	file.Text = fmt.Appendf(slices.Clone(file.Text), "\n// Downgrade converts it to %s, for older builds.\n%s {\n%s\n}\n%s", old, signature, code.text, functions)
	file.AddImports, file.Imports = true, code.imports
	return gen.Draft{
		Kind: "version", Name: v.EventType, Changes: []gen.File{file},
		Next: []string{fmt.Sprintf("To go back to a build that cannot read %s, run %s log downgrade of this build first.", v.EventType, p.Name)},
	}, nil
}

// downgradeCode returns the statements that copy the fields of the next version to an old one, and
// the functions that do so for nested structs.
func downgradeCode(p gen.Project, v *gen.OldVersion, renamed map[string]string) (statements, functions string, err error) {
	dir := path.Dir(v.File.Path)
	c := &converter{p: p, dir: dir, file: newFile(p, dir)}
	type pair struct{ from, to *types.Named }
	var nested []pair
	c.function = func(from *types.Named, to types.Type) (string, bool) {
		named, ok := to.(*types.Named)
		if !ok {
			return "", false
		}
		if next := (pair{from, named}); !slices.Contains(nested, next) {
			nested = append(nested, next)
		}
		return "downgrade" + named.Obj().Name(), true
	}
	if statements, err = c.copyFields(v.Next, v.Type, renamed); err != nil {
		return "", "", err
	}
	for i := 0; i < len(nested); i++ { // copying the fields of one may add others
		text, err := c.copyFields(nested[i].from, nested[i].to, nil)
		if err != nil {
			return "", "", fmt.Errorf("%s: %w", nested[i].from.Obj().Name(), err)
		}
		functions += fmt.Sprintf("\nfunc downgrade%[1]s(c %[2]s) %[1]s {\n%[3]s\n}\n", nested[i].to.Obj().Name(), c.typeText(nested[i].from), text)
	}
	return statements, functions, nil
}

// copyFields returns the statement that copies the fields of a struct, c, to an older one. Optional
// fields that the struct lacks stay unset.
func (c *converter) copyFields(from, to *types.Named, renamed map[string]string) (string, error) {
	now := derive.JSONFields(from.Underlying().(*types.Struct), false)
	var names, values []string
	for _, was := range derive.JSONFields(to.Underlying().(*types.Struct), false) {
		name := was.Key
		if is, ok := renamed[was.Key]; ok {
			name = is
		}
		at := slices.IndexFunc(now, func(f derive.JSONField) bool { return f.Key == name })
		switch {
		case len(was.Path) > 1 || at >= 0 && len(now[at].Path) > 1:
			return "", fmt.Errorf("%s is a field of an embedded struct", was.Key)
		case at >= 0:
			value, ok := c.convert("c."+now[at].Var.Name(), now[at].Var.Type(), was.Var.Type())
			if !ok {
				return "", fmt.Errorf("%s has another type", was.Key)
			}
			names, values = append(names, was.Var.Name()), append(values, value)
		case !was.Omits && !isPointer(was.Var.Type()):
			return "", fmt.Errorf("%s no longer exists", was.Key)
		}
	}
	return structLiteral(to.Obj().Name(), names, values), nil
}
