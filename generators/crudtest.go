package generators

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/petrock/petrock/generators/gen"
)

// crudTests describes the tests of a feature that stores items. Each component has its own test file,
// which only calls that component and create, so that the others can be destroyed.
type crudTests struct {
	crud
	inputs     map[string]*jen.Statement // inputs of commands, by placeholder
	items      map[string][]jen.Code     // fields of expected items, by placeholder
	wrongField string                    // name of the invalid field in the input "wrong"; empty if no value is invalid
}

func (c crud) tests() ([]source, error) {
	t, err := c.newTests()
	if err != nil {
		return nil, err
	}
	const created = "client.Given(\"${feature}_create\", ${created})\n"
	wrong := ""
	if t.wrongField != "" {
		wrong = `{Name: "wrong ${wrongField}", Input: ${wrong}, Error: 'invalid arguments'},`
	}
	second, all := "", ""
	if slices.ContainsFunc(c.fields, func(f gen.Field) bool { return f.Optional }) {
		second, all = itemOf("second", 2, 2, "whole"), `
			{Name: "all fields", Input: ${createdWhole}, Output: second},`
	}
	return []source{
		t.file("create", itemOf("first", 1, 1, "required")+second+checksOf("create", `
			{Name: "required fields", Input: ${created}, Output: first},`+all+`
			`+wrong)),
		t.file("update", created+itemOf("changed", 1, 2, "changed")+checksOf("update", `
			{Name: "one field", Input: ${changes}, Output: changed},
			{Name: "unknown id", Input: ${pkg}.Update{ID: "id9"}, Error: 'no ${one}'},`)),
		// Destroying list removes the second test.
		t.file("delete", created+itemOf("first", 1, 1, "required")+checksOf("delete", `
			{Name: "delete", Input: ${pkg}.Delete{ID: "id1"}, Output: first},
			{Name: "delete again", Input: ${pkg}.Delete{ID: "id1"}, Error: 'no ${one}'},`)+`}

func TestListAfterDelete(t *testing.T) {
	${serve}`+created+created+`client.Given("${feature}_delete", ${pkg}.Delete{ID: "id1"})
	`+itemOf("second", 2, 2, "required")+checksOf("list", `
			{Name: "the rest", Input: ${pkg}.List{Limit: 20}, Output: ${pkg}.ListOutput{Items: []${pkg}.${type}{second}}},
			{Name: "after the deleted one", Input: ${pkg}.List{Limit: 20, After: 1}, Output: ${pkg}.ListOutput{Items: []${pkg}.${type}{second}}},`)),
		t.file("get", created+itemOf("first", 1, 1, "required")+checksOf("get", `
			{Name: "get", Input: ${pkg}.Get{ID: "id1"}, Output: first},
			{Name: "unknown id", Input: ${pkg}.Get{ID: "id9"}, Error: 'no ${one}'},`)),
		t.file("list", created+created+itemOf("first", 1, 1, "required")+itemOf("second", 2, 2, "required")+checksOf("list", `
			{Name: "default limit", Input: '{}', Output: ${pkg}.ListOutput{Items: []${pkg}.${type}{first, second}}},
			{Name: "first page", Input: ${pkg}.List{Limit: 1}, Output: ${pkg}.ListOutput{Items: []${pkg}.${type}{first}, Next: 1}},
			{Name: "last page", Input: ${pkg}.List{Limit: 1, After: 1}, Output: ${pkg}.ListOutput{Items: []${pkg}.${type}{second}}},
			{Name: "limit too small", Input: ${pkg}.List{Limit: 0}, Error: 'invalid arguments'},
			{Name: "limit too large", Input: ${pkg}.List{Limit: 101}, Error: 'invalid arguments'},`)),
	}, nil
}

// itemOf returns the declaration of a variable that holds an item. created and updated are the
// numbers of its events.
func itemOf(variable string, created, updated int, fields string) string {
	return fmt.Sprintf(`%s := ${pkg}.${type}{
		ID: "id%d",
		Seq: %[2]d,
		${%[4]s}CreatedAt: apptest.Time(%[2]d),
		UpdatedAt: apptest.Time(%[3]d),
	}
	`, variable, created, updated, fields)
}

// checksOf returns a loop over calls of a command or query.
func checksOf(name, examples string) string {
	return `for _, example := range []mcptest.Example{` + examples + `
	} {
		t.Run(example.Name, func(t *testing.T) {
			client.CheckTool(t, "${feature}_` + name + `", example)
		})
	}
	`
}

// file returns the test file of a command or query. It replaces ${WORD} in body by expand(WORD), and '
// by a backquote.
func (t crudTests) file(name, body string) source {
	file := featureTest(t.p, t.feature)
	text := "func Test" + gen.Capitalize(name) + "(t *testing.T) {\n${serve}" + strings.ReplaceAll(body, "'", "`") + "}"
	file.Text(os.Expand(text, func(word string) string { return t.expand(file, word) }), "testing", t.p.Import("core/mcptest"))
	return source{name + "_test.go", file}
}

func (t crudTests) expand(file gen.GoFile, word string) string {
	switch word {
	case "feature":
		return t.feature
	case "pkg":
		return strings.TrimSuffix(file.Ref(t.path(), "X"), ".X")
	case "type":
		return t.typ
	case "one":
		return t.one
	case "wrongField":
		return t.wrongField
	case "serve":
		return serveFeature(t.p, file, t.feature)
	}
	if input := t.inputs[word]; input != nil {
		return file.Code(input)
	}
	fields := ""
	for _, field := range t.items[word] {
		fields += file.Code(jen.Add(field)) + ",\n"
	}
	return fields
}

func (c crud) newTests() (t crudTests, err error) {
	t = crudTests{crud: c, inputs: map[string]*jen.Statement{}, items: map[string][]jen.Code{}}
	input := func(word, name string, fields []gen.Field, value func(gen.Field) (any, bool)) {
		object, failed := encodeFields(fields, value)
		if failed != nil {
			err = failed
		}
		literal, ok := structure{name: name, prefix: c.typ, fields: fields, logged: true}.shape(t.path()).literal(object)
		if !ok {
			literal = rawLit(string(object)) // no Go value encodes to it
		}
		t.inputs[word] = literal
	}
	item := func(word string, value func(gen.Field) (any, bool)) {
		object, failed := encodeFields(c.fields, value)
		set, ok := c.structure(c.fields).shape(t.path()).members(object)
		if failed == nil && !ok {
			failed = fmt.Errorf("no value of %s encodes to %s", c.typ, object)
		}
		if failed != nil {
			err = failed
		}
		t.items[word] = set
	}
	other, value := c.changedField()
	input("created", "Create", c.fields, requiredSample)
	input("createdWhole", "Create", c.fields, anySample)
	if bad, value, ok := wrongField(c.fields); ok {
		t.wrongField = bad.Name
		input("wrong", "Create", c.fields, samplesExcept(bad, value))
	}
	input("changes", "Update", c.updateFields(), func(f gen.Field) (any, bool) {
		switch f.Name {
		case "id":
			return "id1", true
		case other.Name:
			return value, true
		}
		return nil, false
	})
	item("required", requiredSample)
	item("whole", anySample)
	item("changed", samplesExcept(other, value))
	return t, err
}

// changedField returns a field that the test of update changes, with its new value.
func (c crud) changedField() (gen.Field, any) {
	for _, f := range c.fields {
		if value, ok := f.OtherSample(); ok {
			return f, value
		}
	}
	return c.fields[0], c.fields[0].Sample()
}

func (t crudTests) path() string { return t.p.Import(featureDir(t.feature)) }
