package gen

import (
	"fmt"
	"maps"
	"path"
	"reflect"
	"regexp"
	"strings"
	"text/template"
)

// A Template is a file of a component. Its path contains * for the component's name: macros/*.go.
// Its text is a [text/template], which can use the fields of the generator's input by Go or JSON
// name, and
//
//	{{.Name}}     vpn_outage
//	{{.Go}}       VPNOutage, the name in Go
//	{{.Human}}    VPN outage
//	{{.Package}}  name of the package in the file's folder
//	{{.Import}}   import path of the file's folder
//
// Go files get a package clause if they have none, and missing imports. A test that names the
// package is in the package with the ending _test.
type Template struct{ Path, Text string }

var (
	testFunction  = regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	packageClause = regexp.MustCompile(`(?m)^package \w`)
	pathPattern   = regexp.MustCompile(`^[A-Za-z0-9_./*-]+$`)
)

// FromTemplates returns the draft of a component whose files are created from templates. in is the
// input of the generator, a struct with a field Name and optionally Description. Before the
// component is written, petrock runs the first test in a file next to the first one with the ending
// _test.go.
func FromTemplates(p Project, kind string, in any, files ...Template) (Draft, error) {
	values := inputValues(in)
	typed, _ := values["Name"].(string)
	name, err := ParseName(typed, p.Initialisms...)
	if err != nil {
		return Draft{}, err
	}
	description, _ := values["Description"].(string)
	if description, err = ParseDescription(description); err != nil {
		return Draft{}, err
	}
	values["Name"], values["name"] = name.Wire(), name.Wire()
	values["Go"], values["Human"] = name.Go(), name.Human()
	values["Description"], values["description"] = description, description

	draft := Draft{Kind: kind, Name: name.Wire()}
	for _, t := range files {
		file, err := t.file(p, kind, name, values)
		if err != nil {
			return Draft{}, err
		}
		draft.Files = append(draft.Files, file)
		dir := path.Dir(file.Path)
		test := testFunction.FindSubmatch(file.Text)
		if test != nil && draft.Trial.Test == "" && strings.HasSuffix(file.Path, "_test.go") && dir == path.Dir(draft.Files[0].Path) {
			draft.Trial.Test = string(test[1])
		}
	}
	return draft, nil
}

// file returns the file of a component.
func (t Template) file(p Project, kind string, name Name, values map[string]any) (File, error) {
	if err := CheckPattern(t.Path); err != nil {
		return File{}, err
	}
	dir, base := path.Split(t.Path)
	dir = path.Clean(dir)
	file := File{Path: path.Join(dir, strings.Replace(base, "*", name.Wire(), 1))}
	isGo := path.Ext(base) == ".go"
	switch base {
	case "*.go":
		file.Path = path.Join(dir, name.File(kind))
	case "*_test.go":
		file.Path = path.Join(dir, strings.TrimSuffix(name.File(kind), ".go")+"_test.go")
	}
	values = maps.Clone(values)
	values["Package"], values["Import"] = p.Package(dir), p.Import(dir)
	parsed, err := template.New(t.Path).Option("missingkey=error").Parse(t.Text)
	if err != nil {
		return File{}, fmt.Errorf("parse %w; in Go code, write {{\"{{\"}} for {{", err)
	}
	var text strings.Builder
	if err := parsed.Execute(&text, values); err != nil {
		return File{}, fmt.Errorf("execute %w", err)
	}
	if isGo && !packageClause.MatchString(text.String()) {
		pkg := p.Package(dir)
		if strings.HasSuffix(file.Path, "_test.go") && regexp.MustCompile(`\b`+pkg+`\.[A-Z]`).MatchString(text.String()) {
			pkg += "_test" // it imports the package
		}
		file.Text = []byte("package " + pkg + "\n\n")
	}
	file.Text, file.AddImports = append(file.Text, text.String()...), isGo
	return file, nil
}

// inputValues returns the fields of a struct by Go and JSON name, or a copy of a map.
func inputValues(in any) map[string]any {
	if given, ok := in.(map[string]any); ok {
		return maps.Clone(given)
	}
	values := map[string]any{}
	v := reflect.Indirect(reflect.ValueOf(in))
	for _, field := range reflect.VisibleFields(v.Type()) {
		if !field.IsExported() || field.Anonymous {
			continue
		}
		key, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		values[field.Name] = v.FieldByIndex(field.Index).Interface()
		if key != "" {
			values[key] = values[field.Name]
		}
	}
	return values
}

// CheckPattern returns an error unless pattern is a path of component files, such as macros/*.go: a
// path from the project's root with a folder, and with one * in the file name.
func CheckPattern(pattern string) error {
	dir, base := path.Split(pattern)
	isInside := path.Clean(pattern) == pattern && !strings.HasPrefix(pattern, "/") && !strings.HasPrefix(pattern, "../")
	if dir == "" || strings.Contains(dir, "*") || strings.Count(base, "*") != 1 || !isInside || !pathPattern.MatchString(pattern) {
		return fmt.Errorf("invalid path %q; write a folder from the project's root and a file name with * for the component's name, such as macros/*.go, with letters, digits, - and _", pattern)
	}
	return nil
}
