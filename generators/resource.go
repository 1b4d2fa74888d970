package generators

import (
	"encoding/json"
	"fmt"
	"mime"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/gen"
)

// ResourceInput is the input of Resource.
type ResourceInput struct {
	Name        string `json:"name"`                  // Such as note
	URI         string `json:"uri"`                   // config://app, or with variables: note://{id}
	Description string `json:"description,omitempty"` // Such as: The text of a note.
	MIME        string `json:"mime,omitempty"`        // MIME type; default: text/plain
	TextImplementation
}

// Resource creates a resource that clients read at a URI.
func Resource(p gen.Project, in ResourceInput) (gen.Draft, error) {
	n, err := newComponent(p, "resource", "resources", in.Name, in.Description, Implementation(in.TextImplementation))
	if err != nil {
		return gen.Draft{}, err
	}
	variables, err := derive.Variables(in.URI)
	if err != nil {
		return gen.Draft{}, err
	}
	n.directives = append(n.directives, "uri "+in.URI)
	if in.MIME != "" {
		if _, _, err := mime.ParseMediaType(in.MIME); err != nil || !strings.Contains(in.MIME, "/") || strings.ContainsAny(in.MIME, "\r\n") {
			return gen.Draft{}, fmt.Errorf("invalid MIME type %q; write one such as text/markdown", in.MIME)
		}
		n.directives = append(n.directives, "mime "+in.MIME)
	}

	file := n.file(p)
	params := "ctx " + file.Ref("context", "Context")
	if len(variables) > 0 {
		input := structure{name: n.goName + "Input", prefix: n.goName, about: "holds the variables of the URI of " + n.wire + "."}
		var fields []string
		for _, variable := range variables {
			field := variable + ":string"
			if slices.Contains(queryVariables(in.URI), variable) {
				field += "?"
			}
			fields = append(fields, field)
		}
		if input.fields, err = gen.ParseFields(fields); err != nil {
			return gen.Draft{}, fmt.Errorf("variables of the URI %q: %w", gen.Shorten(in.URI), err)
		}
		input.write(file)
		params += ", in " + input.name
	}
	n.writeFunction(file, params, "string", `""`)

	test, err := n.resourceTest(p, in.URI, variables)
	return n.draft(p, file, test, err)
}

func (n component) resourceTest(p gen.Project, uri string, variables []string) (gen.GoFile, error) {
	switch {
	case len(n.examples) > 0:
		return n.exampleTest(p, "client.CheckResource(t, $example)", func(e gen.Example) (input, output *jen.Statement, err error) {
			if _, output, err = textRow(e); err != nil {
				return nil, nil, err
			}
			expanded, err := expandURI(uri, variables, e)
			return rawLit(expanded), output, err
		})
	case n.isWritten() && len(variables) > 0:
		return n.listedTest(p, "ResourceTemplates"), nil
	case n.isWritten():
		return n.listedTest(p, "Resources"), nil
	}
	for _, variable := range variables {
		uri = strings.NewReplacer("{"+variable+"}", "example", "{+"+variable+"}", "example").Replace(uri)
	}
	uri, _, _ = strings.Cut(uri, "{?")
	return n.unwrittenTest(p, fmt.Sprintf(`client.Call("resources/read", map[string]string{"uri": %q}, nil)`, uri)), nil
}

// expandURI returns the URI with the variables replaced by the input of an example.
func expandURI(uri string, variables []string, e gen.Example) (string, error) {
	values := map[string]string{}
	if err := json.Unmarshal(e.Input, &values); err != nil {
		return "", err
	}
	for name := range values {
		if !slices.Contains(variables, name) {
			return "", fmt.Errorf("example %q: the URI %s has no variable %s", e.Name, uri, name)
		}
	}
	expanded, err := derive.Expand(uri, values)
	if err != nil {
		return "", fmt.Errorf("example %q: %w", e.Name, err)
	}
	return expanded, nil
}

// queryVariables returns the variables in the query of a URI: note://{id}{?lang}.
func queryVariables(uri string) []string {
	_, query, _ := strings.Cut(uri, "{?")
	return strings.Split(strings.TrimSuffix(query, "}"), ",")
}

func (n component) unwrittenTest(p gen.Project, call string) gen.GoFile {
	return n.test(p, func(file gen.GoFile) string {
		file.Use("strings")
		return fmt.Sprintf(`err := %s
			// %s is not written yet. Once it is, check its output here.
			if err == nil || !strings.Contains(err.Error(), %q) {
				t.Errorf("%[2]s: got error %%v", err)
			}`, call, n.wire, n.unwrittenMessage())
	})
}
