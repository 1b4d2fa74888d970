package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/mcp/testdata/fixture"
	"github.com/petrock/petrock/core/mcptest"
)

// addResourceOf adds a resource that returns out or an error.
func addResourceOf[Out any](out Out, err error) func(*mcp.Server) error {
	return func(s *mcp.Server) error {
		return mcp.AddResource(s, mcp.Resource{URI: "a://a", Name: "a"}, func(context.Context) (Out, error) { return out, err })
	}
}

// The outputs of typed resource functions, and the results that clients get.
func TestAddResource(t *testing.T) {
	one := mcp.ResourceContents{URI: "a://b", Text: "own"}
	type contents = []mcp.ResourceContents
	tests := []struct {
		name string
		add  func(*mcp.Server) error
		mime string
		want contents
		err  string
	}{
		{"string", addResourceOf("<t>", nil), "text/plain", contents{{URI: "a://a", MIMEType: "text/plain", Text: "<t>"}}, ""},
		{"bytes", addResourceOf([]byte("b"), nil), "application/octet-stream", contents{{URI: "a://a", MIMEType: "application/octet-stream", Blob: []byte("b")}}, ""},
		{"no bytes", addResourceOf([]byte(nil), nil), "application/octet-stream", contents{{URI: "a://a", MIMEType: "application/octet-stream", Blob: []byte{}}}, ""},
		{"contents", addResourceOf(one, nil), "", contents{one}, ""},
		{"pointer to contents", addResourceOf(&one, nil), "", contents{one}, ""},
		{"no contents", addResourceOf((*mcp.ResourceContents)(nil), nil), "", nil, `no resource "a://a"`},
		{"several", addResourceOf(contents{one, one}, nil), "", contents{one, one}, ""},
		{"struct", addResourceOf(fixture.AddOutput{Sum: 3}, nil), "application/json", contents{{URI: "a://a", MIMEType: "application/json", Text: `{"sum":3}`}}, ""},
		{"JSON", addResourceOf(json.RawMessage(`["<"]`), nil), "application/json", contents{{URI: "a://a", MIMEType: "application/json", Text: `["<"]`}}, ""},
		{"not encodable", addResourceOf(func() {}, nil), "application/json", nil, "encode contents: json: unsupported type: func()"},
		{"error", addResourceOf("x", jsonrpc.Errorf(-7, "no")), "text/plain", nil, "no"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			client := mcptest.Serve(t, test.add)
			if listed := client.Resources(); len(listed) != 1 || listed[0].MIMEType != test.mime {
				t.Errorf("listed as %+v; want one resource of the type %q", listed, test.mime)
			}
			var got struct {
				Contents contents `json:"contents"`
			}
			err := client.Call("resources/read", map[string]any{"uri": "a://a"}, &got)
			if !reflect.DeepEqual(got.Contents, test.want) {
				t.Errorf("got %+v, want %+v", got.Contents, test.want)
			}
			if test.err == "" && err != nil || test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) {
				t.Errorf("got the error %v, want %q", err, test.err)
			}
		})
	}
}

// The variables of a template are the fields of the input.
func TestAddResourceTemplate(t *testing.T) {
	client := mcptest.Serve(t, func(s *mcp.Server) error {
		return mcp.AddResourceTemplate(s, mcp.ResourceTemplate{URITemplate: "a://{id}{?kind,day}", Name: "note"}, func(_ context.Context, in struct {
			ID   string    `json:"id" schema:"pattern='^[a-z]+$'"`
			Kind style     `json:"kind,omitempty"`
			Day  time.Time `json:"day,omitzero"`
		}) (noteInput, error) {
			return noteInput{in.ID, in.Kind, in.Day}, nil
		})
	})
	for uri, want := range map[string]string{
		"a://b?day=2026-07-28T10:00:00Z": `{"id":"b","kind":"","day":"2026-07-28T10:00:00Z"}`,
		"a://B":                          "",
		"a://b?day=Monday":               "",
	} {
		var got struct {
			Contents []mcp.ResourceContents `json:"contents"`
		}
		err := client.Call("resources/read", map[string]any{"uri": uri}, &got)
		if want == "" {
			if !errors.Is(err, jsonrpc.InvalidParams) {
				t.Errorf("%s: got %+v, %v; want %v", uri, got, err, jsonrpc.InvalidParams)
			}
		} else if err != nil || got.Contents[0].Text != want {
			t.Errorf("%s: got %+v, %v; want %q and no error", uri, got, err, want)
		}
	}
}

// An outage is an error for operators.
type outage struct{}

func (outage) Error() string                     { return "dial 10.0.0.1: refused" }
func (outage) ForClient(requestID string) string { return "the database is down" }

// The text of a resource's ordinary error reaches clients of all revisions, and no more than the
// text for clients if they are remote.
func TestResourceErrors(t *testing.T) {
	upstream := jsonrpc.Errorf(jsonrpc.InvalidParams, "unknown city")
	for _, test := range []struct {
		err  error
		code jsonrpc.Code
		want string
	}{
		{errors.New("the archive is being rebuilt; retry in a minute"), jsonrpc.InternalError, "the archive is being rebuilt; retry in a minute"},
		{fmt.Errorf("read the weather: %w", upstream), jsonrpc.InternalError, "read the weather: unknown city"},
		{upstream, jsonrpc.InvalidParams, "unknown city"},
		{fmt.Errorf("note a: %w", mcp.NotFound("a://a")), mcp.ResourceNotFound, `no resource "a://a"`},
		{fmt.Errorf("read: %w", outage{}), jsonrpc.InternalError, "read: dial 10.0.0.1: refused"},
	} {
		client := mcptest.Serve(t, addResourceOf("", test.err))
		err := client.Call("resources/read", map[string]any{"uri": "a://a"}, nil)
		if !errors.Is(err, test.code) || err.Error() != test.want {
			t.Errorf("%v: got %v, want %q with the code %d", test.err, err, test.want, test.code)
		}
	}
}

// A client cannot subscribe to a resource that it cannot read.
func TestSubscribeChecksVariables(t *testing.T) {
	s := newServer(mcp.Options{})
	addTyped(t, s)
	c := mcptest.Connect(t, s)
	for uri, want := range map[string]error{"typed://note/a": nil, "typed://note/A": jsonrpc.InvalidParams, "typed://nope": mcp.ResourceNotFound} {
		if err := c.Call("resources/subscribe", map[string]any{"uri": uri}, nil); !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", uri, err, want)
		}
	}
}

// Of several templates that match, the most specific one reads.
func TestMostSpecificTemplate(t *testing.T) {
	template := func(uri string) func(*mcp.Server) error {
		return func(s *mcp.Server) error {
			return s.AddResourceTemplate(mcp.ResourceTemplate{URITemplate: uri, Name: uri}, func(context.Context, string, map[string]string) ([]mcp.ResourceContents, error) {
				return []mcp.ResourceContents{{Text: uri}}, nil
			})
		}
	}
	client := mcptest.Serve(t, template("x://{+all}"), template("x://{a}/{b}"), template("x://{a}/end"))
	for uri, want := range map[string]string{"x://1": "x://{+all}", "x://1/2": "x://{a}/{b}", "x://1/end": "x://{a}/end", "x://1/2/3": "x://{+all}"} {
		if got := client.ReadResource(uri); len(got) != 1 || got[0].Text != want {
			t.Errorf("%s is read by %v, want %s", uri, got, want)
		}
	}
}
