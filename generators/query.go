package generators

import (
	"github.com/dave/jennifer/jen"

	"github.com/petrock/petrock/generators/gen"
)

// QueryInput is what the generator of queries takes.
type QueryInput struct {
	Name        string   `json:"name"`                              // Feature and name, such as posts/count
	Fields      []string `json:"fields,omitempty"`                  // Fields of its input, as of generate_tool
	Output      []string `json:"output,omitempty"`                  // The answer, likewise; a text called result if left out
	Description string   `json:"description,omitempty"`             // What it answers, such as: Counts posts.
	Body        string   `json:"body,omitempty" schema:"format=go"` // Go statements that return CountOutput{…} and an error, and change nothing. ctx, q (the query) and s (*State) are there
	Examples    []Step   `json:"examples,omitempty"`                // As of generate_command
}

// Query makes a query of a feature, or of a new one: a tool that reads its state, with its test.
func Query(p gen.Project, in QueryInput) (gen.Draft, error) {
	n, err := inFeature(p, "query", in.Name, in.Description)
	if err != nil {
		return gen.Draft{}, err
	}
	if err := n.tried(in.Body, in.Examples); err != nil {
		return gen.Draft{}, err
	}
	asked, given, err := n.structures(in.Fields, in.Output)
	if err != nil {
		return gen.Draft{}, err
	}
	if len(given.fields) == 0 {
		given.fields = []gen.Field{{Name: "result", Go: "Result", Type: gen.FieldType{Kind: gen.KindString}, Description: "The answer"}}
	}
	if err := n.apartFrom(asked.fields, "Answer"); err != nil {
		return gen.Draft{}, err
	}

	file := n.file(p)
	asked.write(file)
	given.write(file)
	file.Comment("// Answer says what s has of it. It changes nothing.")
	file.Func().Params(jen.Id("q").Id(n.goName)).Id("Answer").Params(jen.Id("ctx").Qual("context", "Context"), jen.Id("s").Op("*").Id("State")).
		Params(jen.Id(given.name), jen.Error()).Block(n.block(jen.Id(given.name).Values()))

	test, err := n.toolTest(p, asked, given)
	if err != nil {
		return gen.Draft{}, err
	}
	draft, err := n.draft(file, test)
	if err != nil {
		return gen.Draft{}, err
	}
	return n.begin(p, draft)
}
