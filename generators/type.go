package generators

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/petrock/petrock/core/plumbing/terminal"
	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/gen"
)

// TypeInput is the input of Type.
type TypeInput struct {
	Name        string   `json:"name"`             // desk/Loan in a feature; money/Currency in internal/money
	Fields      []string `json:"fields,omitempty"` // Of a struct, as for a tool
	Values      []string `json:"values,omitempty"` // Of an enum
	Description string   `json:"description,omitempty"`
}

// Type creates a struct or an enum that components share.
func Type(p gen.Project, in TypeInput) (gen.Draft, error) {
	dir, err := typeDir(p, in.Name)
	parsed, nameErr := gen.ParseName(path.Base(in.Name), p.Initialisms...)
	description, textErr := gen.ParseDescription(in.Description)
	fields, fieldsErr := gen.ParseFields(in.Fields, p.Initialisms...)
	values, valuesErr := gen.ParseValues(in.Values, p.Initialisms...)
	place, _ := derive.PlaceAt(dir)
	name := parsed.Go()
	switch err := errors.Join(err, nameErr, textErr, fieldsErr, valuesErr); {
	case err != nil:
		return gen.Draft{}, err
	case (len(fields) > 0) == (len(values) > 0):
		return gen.Draft{}, errors.New("a type needs fields for a struct, or values for an enum")
	case place.IsReserved(name):
		return gen.Draft{}, fmt.Errorf("the Go name %s is reserved in %s; choose another name", name, dir)
	}
	file, about := NewFile(p, dir), gen.DocSentence(name, description)
	if !p.HasPackage(dir) {
		file.PackageComment("// Package " + p.Package(dir) + " holds types that features, tools and other packages share.")
	}
	if len(values) > 0 {
		writeDoc(file, cmp.Or(about, name+" is one of the values below."), nil)
		file.Text(gen.FieldType{Values: values}.Declare(name, name))
	} else {
		feature, _ := strings.CutPrefix(dir, derive.Features+"/")
		component{project: p, feature: feature, features: map[string]*gen.Feature{}}.useDeclaredEnums(fields)
		structure{StructCode: gen.StructCode{Prefix: name, Logged: derive.IsLogged(dir)}, name: name, about: about, fields: fields}.write(file)
	}
	draft := gen.Draft{Kind: "type", Name: derive.TypeName(dir, name)}
	draft.Files, err = renderFiles(dir, source{parsed.File("type"), file})
	return draft, err
}

// typeDir returns the folder of the package of a type, PACKAGE/TYPE, which may be new. It refuses
// the folders of petrock and of programs, and a new package whose name is close to that of another.
func typeDir(p gen.Project, name string) (string, error) {
	pkg, typ := path.Split(name)
	dir := derive.TypeDir(path.Clean(pkg), p.HasPackage)
	first, _, _ := strings.Cut(dir, "/")
	switch {
	case pkg == "" || typ == "":
		return "", fmt.Errorf("invalid type name %q: write PACKAGE/TYPE, such as desk/Loan", name)
	case slices.Contains([]string{"cmd", "core", "generators"}, first) || dir == derive.OwnGenerators || p.Packages[dir] == "main":
		return "", fmt.Errorf("invalid type name %q: other packages cannot use types in %s; choose another package", name, dir)
	case p.HasPackage(dir) || slices.Contains([]string{"tools", "resources", "prompts"}, dir):
		return dir, nil
	}
	var known []string
	for other := range p.Packages {
		known = append(known, derive.TypeName(other, ""))
	}
	slices.Sort(known)
	if close := terminal.Closest(pkg, known); close != "" {
		return "", fmt.Errorf("package %s does not exist; did you mean %s? If not, name its folder: %s", path.Clean(pkg), close+typ, dir+"/"+typ)
	}
	if first == derive.Features {
		return "", fmt.Errorf("feature %s does not exist; first run %s", path.Base(dir), p.Call("generate", "kind", "feature", "name", path.Base(dir)))
	}
	for word := range strings.SplitSeq(dir, "/") {
		if err := derive.CheckNewPackageName("package", word); err != nil && word != "internal" {
			return "", err
		}
	}
	return dir, nil
}
