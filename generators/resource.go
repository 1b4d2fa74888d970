package generators

import (
	"encoding/json"
	"fmt"
	"mime"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/petrock/petrock/core/plumbing/uritemplate"
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
	n, err := newComponent(p, "resource", request{name: in.Name, description: in.Description, Implementation: Implementation(in.TextImplementation)})
	if err != nil {
		return gen.Draft{}, err
	}
	template, err := derive.ParseURI(in.URI)
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

	file := n.file()
	params := "ctx " + file.Ref("context", "Context")
	if variables := template.Variables(); len(variables) > 0 {
		n.input.about = n.input.name + " holds the variables of the URI of " + n.wire + "."
		var fields []string
		for _, name := range variables {
			field := name + ":string"
			if slices.Contains(template.Optional, name) {
				field += "?"
			}
			fields = append(fields, field)
		}
		if n.input.fields, err = p.ParseFields(n.dir, fields); err != nil {
			return gen.Draft{}, fmt.Errorf("variables of the URI %q: %w", gen.Shorten(in.URI), err)
		}
		n.input.write(file)
		params += ", in " + n.input.name
	}
	n.writeFunction(file, params, "string", `""`)

	test, err := n.resourceTest(template)
	return n.draft(file, test, err)
}

func (n component) resourceTest(template *uritemplate.Template) (gen.GoFile, error) {
	if len(n.steps) == 0 {
		values := map[string]string{}
		for _, name := range template.Variables() {
			values[name] = "example"
		}
		uri, err := template.Expand(values)
		return n.plainTest(gen.TextLit(uri)), err
	}
	return n.exampleTest(func(s step) (input, output *jen.Statement, err error) {
		if _, output, err = textRow(s); err != nil {
			return nil, nil, err
		}
		values := map[string]string{}
		if err := json.Unmarshal(s.Input, &values); err != nil {
			return nil, nil, fmt.Errorf("example %q: %w", s.Name, err)
		}
		for name := range values {
			if !slices.Contains(template.Variables(), name) {
				return nil, nil, fmt.Errorf("example %q: the URI %s has no variable %s", s.Name, template, name)
			}
		}
		uri, err := template.Expand(values)
		return gen.TextLit(uri), output, err
	})
}

// PromptInput is the input of Prompt.
type PromptInput struct {
	Name        string   `json:"name"`                  // Such as review
	Fields      []string `json:"fields,omitempty"`      // Arguments of type string, enum or time: code, style:enum(short,long)?
	Description string   `json:"description,omitempty"` // Such as: Asks for a review.
	TextImplementation
}

// Prompt creates a prompt, a message template that users choose in their client.
func Prompt(p gen.Project, in PromptInput) (gen.Draft, error) {
	n, err := newComponent(p, "prompt", request{name: in.Name, description: in.Description, fields: in.Fields, Implementation: Implementation(in.TextImplementation)})
	if err != nil {
		return gen.Draft{}, err
	}
	for _, f := range n.input.fields {
		isTime := f.Type.Kind == gen.KindTime || f.Type.Kind == gen.KindDate
		switch {
		case f.Default != nil:
			return gen.Draft{}, fmt.Errorf("argument %s: prompts do not support defaults; make it optional with ?, and set it in the function", f.Name)
		case !isTime && !f.Type.IsText():
			return gen.Draft{}, fmt.Errorf("argument %s: prompts do not support type %s; use string, enum(a,b), date or time, and parse the string in the function", f.Name, f.Type)
		}
	}
	n.input.about = n.input.name + " holds the arguments of " + n.wire + "."
	file := n.file()
	n.input.write(file)
	n.writeFunction(file, "ctx "+file.Ref("context", "Context")+", in "+n.input.name, "string", `""`)
	return n.checkedDraft(file, textRow)
}
