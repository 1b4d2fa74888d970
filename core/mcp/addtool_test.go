package mcp_test

import (
	"context"
	"encoding/json"
	"reflect"
	"testing"

	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/mcp/testdata/fixture"
	"github.com/petrock/petrock/core/schema"
)

type listInput struct {
	Label string `json:"label"`
	Limit int    `json:"limit" schema:"min=1,default=20"`
}

type listOutput struct {
	Items []string `json:"items"`
}

func list(context.Context, listInput) (listOutput, error) { return listOutput{}, nil }

const (
	listIn  = `{"type":"object","properties":{"label":{"type":"string"},"limit":{"type":"integer","minimum":1,"default":20}},"required":["label"],"additionalProperties":false}`
	listOut = `{"type":"object","properties":{"items":{"type":["array","null"],"items":{"type":"string"}}},"required":["items"],"additionalProperties":false}`
	staleIn = `{"type":"object","properties":{"tag":{"type":"string"},"limit":{"type":"integer","minimum":1,"default":20}},"required":["tag"],"additionalProperties":false}`
)

// A schema that does not match its Go type, or that cannot be inferred, is refused when it is
// added.
func TestTypedAddRefuses(t *testing.T) {
	type texts struct {
		ID string `json:"id"`
	}
	prompt := func(context.Context, texts) (string, error) { return "", nil }
	read := func(context.Context, texts) (string, error) { return "", nil }
	typo := json.RawMessage(`{"type":"object","properties":{"qurey":{"type":"string"}},"required":["qurey"],"additionalProperties":false}`)
	query := func(_ context.Context, in struct {
		Query string `json:"query"`
	}) (string, error) {
		return in.Query, nil
	}
	for _, test := range []struct {
		name string
		add  func(*mcp.Server) error
		want string
	}{
		{"good", func(s *mcp.Server) error {
			return mcp.AddTool(s, mcp.Tool{Name: "f", InputSchema: json.RawMessage(listIn), OutputSchema: json.RawMessage(listOut)}, list)
		}, ""},
		{"mistyped property", func(s *mcp.Server) error { return mcp.AddTool(s, mcp.Tool{Name: "search", InputSchema: typo}, query) },
			`add tool search: the type has "query", its input schema has "qurey"`},
		{"renamed field", func(s *mcp.Server) error {
			return mcp.AddTool(s, mcp.Tool{Name: "list", InputSchema: json.RawMessage(staleIn)}, list)
		}, `add tool list: listInput has "label", its input schema has "tag"`},
		{"output", func(s *mcp.Server) error {
			return mcp.AddTool(s, mcp.Tool{Name: "list", OutputSchema: json.RawMessage(`{"type":"object","properties":{"items":{"type":"string"}}}`)}, list)
		}, `add tool list: listOutput.items is an array, its output schema says a string`},
		{"encoded output", func(s *mcp.Server) error {
			return mcp.AddTool(s, mcp.Tool{Name: "list", OutputSchema: json.RawMessage(`{"type":"object","properties":{"entries":{}}}`)},
				func(context.Context, struct{}) (mcp.Encoded[listOutput], error) {
					return mcp.Encoded[listOutput]{}, nil
				})
		}, `add tool list: listOutput does not have "entries", its output schema does`},
		{"result made by the function", func(s *mcp.Server) error {
			return mcp.AddTool(s, mcp.Tool{Name: "f", OutputSchema: json.RawMessage(listOut)}, func(context.Context, struct{}) (*mcp.ToolResult, error) { return nil, nil })
		}, ""},
		{"input without JSON form", func(s *mcp.Server) error {
			return mcp.AddTool(s, mcp.Tool{Name: "f"}, func(context.Context, struct{ Done chan int }) (string, error) { return "", nil })
		}, `add tool f: infer input schema of struct { Done chan int }: field Done: chan int has no JSON form; use another type, or exclude the field with json:"-"`},
		{"output without JSON form", func(s *mcp.Server) error {
			return mcp.AddTool(s, mcp.Tool{Name: "f"}, func(context.Context, struct{}) (func(), error) { return nil, nil })
		}, `add tool f: infer output schema of func(): func() has no JSON form; use another type, or exclude the field with json:"-", or return *mcp.ToolResult`},
		{"pointer input", func(s *mcp.Server) error {
			return mcp.AddTool(s, mcp.Tool{Name: "f"}, func(context.Context, *listInput) (string, error) { return "", nil })
		}, `add tool f: input *mcp_test.listInput: must be a struct or a map`},
		{"no function", func(s *mcp.Server) error {
			return mcp.AddTool[struct{}, string](s, mcp.Tool{Name: "f"}, nil)
		}, `add tool f: has no handler`},
		{"bad default", func(s *mcp.Server) error {
			return mcp.AddTool(s, mcp.Tool{Name: "f", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, struct {
				A int `schema:"default=x"`
			}) (string, error) {
				return "", nil
			})
		}, `add tool f: schema tag of struct { A int "schema:\"default=x\"" }.A: default x: not of type int`},

		{"argument of a prompt", func(s *mcp.Server) error {
			return mcp.AddPrompt(s, mcp.Prompt{Name: "p", Arguments: []mcp.PromptArgument{{Name: "di"}}}, prompt)
		}, `add prompt p: texts has ["id"], but the prompt has ["di"]`},
		{"schema of a prompt", func(s *mcp.Server) error { return mcp.AddPrompt(s, mcp.Prompt{Name: "p", InputSchema: typo}, prompt) },
			`add prompt p: texts has "id", its input schema has "qurey"`},
		{"number in a prompt", func(s *mcp.Server) error {
			return mcp.AddPrompt(s, mcp.Prompt{Name: "p"}, func(context.Context, struct{ N int }) (string, error) { return "", nil })
		}, `add prompt p: struct { N int }.N: arguments are text, got int; use a string, or the option "string" in its json tag`},
		{"default in a prompt", func(s *mcp.Server) error {
			return mcp.AddPrompt(s, mcp.Prompt{Name: "p"}, func(context.Context, listInput) (string, error) { return "", nil })
		}, `add prompt p: mcp_test.listInput.Limit: only tools support a default; set it in the function`},
		{"variable of a template", func(s *mcp.Server) error {
			return mcp.AddResourceTemplate(s, mcp.ResourceTemplate{Name: "t", URITemplate: "a://{name}"}, read)
		}, `add resource template a://{name}: texts has ["id"], but a://{name} has ["name"]`},
		{"field without a variable", func(s *mcp.Server) error {
			return mcp.AddResourceTemplate(s, mcp.ResourceTemplate{Name: "t", URITemplate: "a://{id}"}, func(context.Context, struct{ ID, Extra string }) (string, error) { return "", nil })
		}, `add resource template a://{id}: the input has ["ID" "Extra"], but a://{id} has ["id"]`},
		{"MIME type", func(s *mcp.Server) error {
			return mcp.AddResource(s, mcp.Resource{Name: "r", URI: "a://b", MIMEType: "text/html"}, func(context.Context) (listOutput, error) { return listOutput{}, nil })
		}, `add resource a://b: mcp_test.listOutput is sent as application/json, not as text/html; return a string`},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := ""
			if err := test.add(mcp.NewServer(mcp.Implementation{Name: "s", Version: "1"}, mcp.Options{})); err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

// In derived code, a schema that is missing or does not match means that its file is stale. The
// error names the file and the command that regenerates it.
func TestDerivedIsStale(t *testing.T) {
	s := mcp.NewServer(mcp.Implementation{Name: "s", Version: "1"}, mcp.Options{})
	type query struct {
		Label string `json:"label,omitempty"`
	}
	list := func(context.Context, query) (string, error) { return "", nil }
	tag := json.RawMessage(`{"type":"object","properties":{"tag":{"type":"string"}},"additionalProperties":false}`)
	d := s.Derived("tools_gen.go")
	for _, test := range []struct {
		name string
		err  error
		want string
	}{
		{"add tool list", mcp.AddTool(d, mcp.Tool{Name: "list", InputSchema: tag}, list), `query has "label", its input schema has "tag"`},
		{"add prompt list", mcp.AddPrompt(d, mcp.Prompt{Name: "list", InputSchema: tag}, list), `query has "label", its input schema has "tag"`},
		{"add prompt list", mcp.AddPrompt(d, mcp.Prompt{Name: "list"}, list), `query has ["label"], but the prompt has []`},
		{"add resource template a://{tag}", mcp.AddResourceTemplate(d, mcp.ResourceTemplate{Name: "list", URITemplate: "a://{tag}", InputSchema: tag}, list), `query has "label", its input schema has "tag"`},
	} {
		want := test.name + ": tools_gen.go is stale: " + test.want + "; run petrock sync"
		if test.err == nil || test.err.Error() != want {
			t.Errorf("%s = %v, want %s", test.name, test.err, want)
		}
	}
	own := json.RawMessage(`{"type":"object","properties":{"label":{"type":"string"}},"required":["label"]}`)
	if err := mcp.AddTool(s, mcp.Tool{Name: "own", InputSchema: own}, list); err != nil {
		t.Errorf("AddTool(server, a stricter schema) = %v, want nil", err)
	}
	if err := mcp.AddTool(d, mcp.Tool{Name: "own2", InputSchema: own}, list); err == nil {
		t.Error("AddTool(derived, a stricter schema) = nil, want an error")
	}
}

type searchTool struct {
	Query  string   `json:"query" schema:"min=1,max=200"`
	Limit  int      `json:"limit" schema:"min=1,max=100,default=20"`
	Tags   []string `json:"tags,omitempty" schema:"max=10"`
	After  string   `json:"after,omitempty"`
	Sort   string   `json:"sort" schema:"enum=name|date,default=name"`
	Drafts bool     `json:"drafts,omitempty"`
}

type searchFound struct {
	Items []struct {
		ID    string   `json:"id"`
		Title string   `json:"title"`
		Score float64  `json:"score"`
		Tags  []string `json:"tags,omitempty"`
	} `json:"items"`
	Total int    `json:"total"`
	Next  string `json:"next,omitempty"`
	Took  int64  `json:"took"`
}

// The cost of adding a tool with six input and eight output fields: as a JSON handler, as a
// function with schemas, and as a function without schemas.
func BenchmarkAddTool(b *testing.B) {
	find := func(context.Context, searchTool) (searchFound, error) { return searchFound{}, nil }
	bare := mcp.Tool{Name: "search", Description: "Searches."}
	derived := bare
	for d, to := range map[schema.Direction]*json.RawMessage{schema.Input: &derived.InputSchema, schema.Output: &derived.OutputSchema} {
		of := reflect.TypeFor[searchTool]()
		if d == schema.Output {
			of = reflect.TypeFor[searchFound]()
		}
		var err error
		if *to, err = schema.Infer(of, d); err != nil {
			b.Fatal(err)
		}
	}
	for _, run := range []struct {
		name string
		add  func(*mcp.Server) error
	}{
		{"JSON", func(s *mcp.Server) error { return s.AddTool(derived, fixture.Nothing) }},
		{"given", func(s *mcp.Server) error { return mcp.AddTool(s, derived, find) }},
		{"inferred", func(s *mcp.Server) error { return mcp.AddTool(s, bare, find) }},
	} {
		b.Run(run.name, func(b *testing.B) {
			s := mcp.NewServer(mcp.Implementation{Name: "s", Version: "1"}, mcp.Options{})
			b.ReportAllocs()
			for b.Loop() {
				if err := run.add(s); err != nil {
					b.Fatal(err)
				}
				s.RemoveTool("search")
			}
		})
	}
}
