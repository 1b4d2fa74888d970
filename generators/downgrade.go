package generators

import (
	"fmt"
	"go/types"
	"slices"
	"strings"

	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/gen"
)

// newDowngrade appends func Downgrade to the file of an old version. renamed are the new names of fields, by
// their old ones.
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
	code := &body{}
	if in.DowngradeBody != "" {
		code, err = parseBody(p.Option("downgrade_body"), in.DowngradeBody)
	} else if code.text, err = copyFields(v, renamed); err != nil {
		err = fmt.Errorf("%s: cannot convert %s to %s: %w; set %s to the statements of %s", v.EventType, next, old, err, p.Option("downgrade_body"), signature)
	}
	if err != nil {
		return gen.Draft{}, err
	}
	file := v.File
	file.Text = fmt.Appendf(slices.Clone(file.Text), "\n// Downgrade converts it to %s, for older builds.\n%s {\n%s\n}\n", old, signature, code.text)
	file.AddImports, file.Imports = true, code.imports
	return gen.Draft{
		Kind: "version", Name: v.EventType, Changes: []gen.File{file},
		Next: []string{fmt.Sprintf("To go back to a build that cannot read %s, run %s log downgrade of this build first.", v.EventType, p.Name)},
	}, nil
}

// copyFields returns the statement that copies the fields of the next version to an old one. Optional fields
// that the next version lacks stay unset.
func copyFields(v *gen.OldVersion, renamed map[string]string) (string, error) {
	now := derive.JSONFields(v.Next.Underlying().(*types.Struct), false)
	var set []string
	for _, was := range derive.JSONFields(v.Type.Underlying().(*types.Struct), false) {
		name := was.Key
		if is, ok := renamed[was.Key]; ok {
			name = is
		}
		at := slices.IndexFunc(now, func(f derive.JSONField) bool { return f.Key == name })
		switch {
		case len(was.Path) > 1 || at >= 0 && len(now[at].Path) > 1:
			return "", fmt.Errorf("%s is a field of an embedded struct", was.Key)
		case at >= 0 && types.Identical(was.Var.Type(), now[at].Var.Type()):
			set = append(set, was.Var.Name()+": c."+now[at].Var.Name())
		case at >= 0:
			return "", fmt.Errorf("%s has another type", was.Key)
		case !was.Omits && !isPointer(was.Var.Type()):
			return "", fmt.Errorf("%s does not exist any more", was.Key)
		}
	}
	return "return " + v.Type.Obj().Name() + "{" + strings.Join(set, ", ") + "}", nil
}
