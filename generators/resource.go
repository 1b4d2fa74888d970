package generators

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/gen"
)

// ResourceInput is what the generator of resources takes.
type ResourceInput struct {
	Name        string `json:"name"`                  // Name of the resource, such as note
	URI         string `json:"uri"`                   // Its address, such as config://app, or note://{id}, where {id} stands for any text
	Description string `json:"description,omitempty"` // What is to be found there, such as: The text of a note.
	WrittenText
}

// Resource makes a resource: something that clients can read under an address, with its test. An
// address with variables makes it a whole family of resources.
func Resource(p gen.Project, in ResourceInput) (gen.Draft, error) {
	n, err := names(p, "resource", "resources", in.Name, in.Description)
	if err != nil {
		return gen.Draft{}, err
	}
	if err := n.take(Written(in.WrittenText), false); err != nil {
		return gen.Draft{}, err
	}
	variables, err := derive.Variables(in.URI)
	if err != nil {
		return gen.Draft{}, err
	}
	n.directives = append(n.directives, "uri "+in.URI)

	file := n.file(p)
	params := "ctx " + file.Ref("context", "Context")
	if len(variables) > 0 {
		input := structure{name: n.goName + "Input", prefix: n.goName, about: "is what the address of " + n.wire + " holds."}
		for _, variable := range variables {
			name, err := gen.ParseFieldName(variable)
			if err != nil {
				return gen.Draft{}, err
			}
			optional := slices.Contains(queryOf(in.URI), variable)
			input.fields = append(input.fields, gen.Field{Name: variable, Go: name.Go(), Type: gen.FieldType{Kind: gen.KindString}, Optional: optional})
		}
		if err := distinct(in.URI, input.fields); err != nil {
			return gen.Draft{}, err
		}
		input.write(file)
		params += ", in " + input.name
	}
	n.function(file, params, "string", `""`)

	test, err := n.resourceTest(p, in.URI, variables)
	return n.draft(p, file, test, err)
}

func (n named) resourceTest(p gen.Project, uri string, variables []string) (gen.GoFile, error) {
	switch {
	case len(n.examples) > 0:
		return n.exampleTest(p, "client.CheckResource(t, example)", func(e gen.Example) (input, output *jen.Statement, err error) {
			if _, output, err = textRow(e); err != nil {
				return nil, nil, err
			}
			address, err := addressOf(uri, variables, e)
			return rawLit(address), output, err
		})
	case n.isWritten() && len(variables) > 0:
		return n.listedTest(p, "ResourceTemplates"), nil
	case n.isWritten():
		return n.listedTest(p, "Resources"), nil
	}
	address := uri
	for _, variable := range variables {
		address = strings.NewReplacer("{"+variable+"}", "example", "{+"+variable+"}", "example").Replace(address)
	}
	address, _, _ = strings.Cut(address, "{?")
	return n.unwrittenTest(p, fmt.Sprintf(`client.Call("resources/read", map[string]string{"uri": %q}, nil)`, address)), nil
}

// addressOf is where the resource of an example is: what the example is given stands for the variables.
func addressOf(uri string, variables []string, e gen.Example) (string, error) {
	values := map[string]string{}
	if err := json.Unmarshal(e.Input, &values); err != nil {
		return "", err
	}
	for name := range values {
		if !slices.Contains(variables, name) {
			return "", fmt.Errorf("the example %q gives a value for %s, which is no variable of the address %s", e.Name, name, uri)
		}
	}
	address, err := derive.Expand(uri, values)
	if err != nil {
		return "", fmt.Errorf("the example %q: %w", e.Name, err)
	}
	return address, nil
}

// queryOf are the variables of an address that stand for the parameters of a query.
func queryOf(uri string) []string {
	_, query, _ := strings.Cut(uri, "{?")
	return strings.Split(strings.TrimSuffix(query, "}"), ",")
}

func distinct(uri string, fields []gen.Field) error {
	for i, f := range fields {
		for _, other := range fields[:i] {
			if f.Go == other.Go || strings.EqualFold(f.Name, other.Name) {
				return fmt.Errorf("in the address %q, the variables %s and %s are too much alike; rename one", uri, other.Name, f.Name)
			}
		}
	}
	return nil
}

// unwrittenTest is the test of a component whose function returns an error until it is written.
func (n named) unwrittenTest(p gen.Project, call string) gen.GoFile {
	return n.test(p, func(file gen.GoFile) string {
		file.Use("strings")
		return fmt.Sprintf(`err := %s
			// It is not written yet. When it is, say here what %s returns.
			if err == nil || !strings.Contains(err.Error(), %q) {
				t.Errorf("%[2]s says %%v", err)
			}`, call, n.wire, n.where())
	})
}
