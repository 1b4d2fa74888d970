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
	Name        string   `json:"name"`                  // desk/Loan in a feature; money/Currency in internal/money
	Fields      []string `json:"fields,omitempty"`      // Of a struct, as for a tool
	Values      []string `json:"values,omitempty"`      // Of an enum, such as eur
	Description string   `json:"description,omitempty"` // Such as: A loan of an item.
}

// Type creates a struct or an enum that components share.
func Type(p gen.Project, in TypeInput) (gen.Draft, error) {
	if (len(in.Fields) > 0) == (len(in.Values) > 0) {
		return gen.Draft{}, fmt.Errorf("a type needs %s for a struct, or %s for an enum", p.Option("fields"), p.Option("values"))
	}
	at := strings.LastIndex(in.Name, "/")
	if at <= 0 {
		return gen.Draft{}, fmt.Errorf("invalid type name %q: write PACKAGE/TYPE, such as desk/Loan", in.Name)
	}
	dir, err := typeDir(p, in.Name[:at], in.Name[at+1:])
	name, nameErr := gen.ParseName(in.Name[at+1:], p.Initialisms...)
	description, textErr := gen.ParseDescription(in.Description)
	fields, fieldsErr := gen.ParseFields(in.Fields, p.Initialisms...)
	if err := errors.Join(err, nameErr, textErr, fieldsErr); err != nil {
		return gen.Draft{}, err
	}
	if place, ok := derive.PlaceAt(dir); ok && place.IsReserved(name.Go()) {
		return gen.Draft{}, fmt.Errorf("the Go name %s is reserved in %s; choose another name", name.Go(), dir)
	}
	file := newFile(p, dir)
	if p.Packages[dir] == "" {
		file.PackageComment("// Package " + p.Package(dir) + " holds types that features, tools and other packages share.")
	}
	if err := writeType(p, file, dir, name.Go(), description, fields, in.Values); err != nil {
		return gen.Draft{}, err
	}
	draft := gen.Draft{Kind: "type", Name: derive.TypeName(dir, name.Go(), p.HasPackage)}
	draft.Files, err = renderFiles(dir, source{name.File("type"), file})
	return draft, err
}

// writeType writes the declaration of a struct or, with values, of an enum.
func writeType(p gen.Project, file gen.GoFile, dir, name, description string, fields []gen.Field, values []string) error {
	if len(values) > 0 {
		parsed, err := gen.ParseValues(values, p.Initialisms...)
		if err != nil {
			return err
		}
		about := cmp.Or(gen.DocSentence(name, description), name+" is one of the values below.")
		file.Text("// " + about + "\n" + gen.FieldType{Values: parsed}.Declare(name, name))
		return nil
	}
	s := structure{StructCode: gen.StructCode{Prefix: name, Logged: derive.IsLogged(dir)}, name: name, about: gen.DocSentence(name, description), fields: fields}
	if place, ok := derive.PlaceAt(dir); ok && place.Kind == derive.Feature {
		component{project: p, feature: path.Base(dir), features: map[string]*gen.Feature{}}.useDeclaredEnums(s.fields)
	}
	s.write(file)
	return nil
}

// typeDir returns the folder of a package of the project, which may be new. It refuses the folders
// of petrock and of programs, and a new package whose name is close to that of another.
func typeDir(p gen.Project, pkg, typ string) (string, error) {
	dir := derive.TypeDir(pkg, p.HasPackage)
	first, _, _ := strings.Cut(dir, "/")
	switch {
	case slices.Contains([]string{"cmd", "core", "generators"}, first) || dir == derive.OwnGenerators || p.Packages[dir] == "main":
		return "", fmt.Errorf("invalid package %q: types for other packages cannot be in %s; choose another folder", pkg, dir)
	case p.HasPackage(dir) || slices.Contains([]string{"tools", "resources", "prompts"}, dir):
		return dir, nil
	case first == derive.Features:
		return "", fmt.Errorf("feature %s does not exist; %s", path.Base(dir), terminal.DidYouMean(path.Base(dir), p.Features(), "first run "+p.Call("generate", "kind", "feature", "name", path.Base(dir))))
	}
	for word := range strings.SplitSeq(dir, "/") {
		if err := derive.CheckNewPackageName("package", word); err != nil && word != "internal" {
			return "", err
		}
	}
	known := p.Features()
	for other := range p.Packages {
		known = append(known, strings.TrimPrefix(other, "internal/"))
	}
	slices.Sort(known)
	if close := terminal.Closest(pkg, known); close != "" {
		return "", fmt.Errorf("package %s does not exist; did you mean %s/%s? If not, name its folder: %s/%[3]s", pkg, close, typ, dir)
	}
	return dir, nil
}
