package derive

import (
	"encoding/json"
	"fmt"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/plumbing/inference"
	"github.com/petrock/petrock/core/strictjson"
	"github.com/petrock/petrock/generators/contract"
	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/typecheck"
)

// A Component is a tool, resource, prompt, generator, feature, command, query, worker or type.
type Component struct {
	Kind        Kind            `json:"kind"`                   // Kind of component
	Name        string          `json:"name"`                   // Name that clients use
	Title       string          `json:"title,omitempty"`        // Title for people
	Description string          `json:"description,omitempty"`  // Description for models
	Func        string          `json:"func,omitempty"`         // Go function, Type.Method, or the type of a command, query or worker
	File        string          `json:"file,omitempty"`         // Source file, from the project's root
	Line        int             `json:"line,omitempty"`         // Line in the source file
	URI         string          `json:"uri,omitempty"`          // URI or URI template of a resource
	MIMEType    string          `json:"mimeType,omitempty"`     // MIME type of a resource
	Input       json.RawMessage `json:"inputSchema,omitempty"`  // JSON Schema of the input
	Output      json.RawMessage `json:"outputSchema,omitempty"` // JSON Schema of the output
	Feature     string          `json:"feature,omitempty"`      // Feature that it belongs to
	EventType   string          `json:"eventType,omitempty"`    // Type of a command's events, such as posts/create
	Aliases     []string        `json:"aliases,omitempty"`      // Deprecated names of a tool, which clients can still call
	Internal    bool            `json:"internal,omitempty"`     // Whether the command or query is hidden from clients and only called from Go
	Retired     bool            `json:"retired,omitempty"`      // Whether the events of the command are replayed, but it is not a tool and cannot be executed
	Makes       []string        `json:"makes,omitempty"`        // Files of the components that a generator creates, such as macros/*.go

	arguments   []string // fields of the input of a prompt or resource
	ownSchema   bool     // a directive sets part of its schemas
	annotations *mcp.ToolAnnotations
	scopes      []string  // OAuth scopes that a call requires
	version     int       // of a command
	writes      int       // older version of the events and the input of a command; 0 means version
	triggers    []trigger // of a worker
	constructor string    // of a worker, as an expression
	fromStart   bool      // the worker starts at the first event of the log
	completer   string    // function, or Type.Method, that completes its arguments

	stored      contract.Shape // fields of a command's events
	oldVersions []oldVersion   // types of a command's older versions
}

// WithAliases returns a tool and, for each of its deprecated names, the tool under that name.
func (c Component) WithAliases() []Component {
	all := []Component{c}
	for _, alias := range c.Aliases {
		old := c
		old.Name, old.Description, old.Aliases = alias, "Deprecated: use "+c.Name+". "+c.Description, nil
		all = append(all, old)
	}
	return all
}

// Label returns the name of the component in lists: with the URI of a resource, and posts/purge
// (internal) for a command or query that is not a tool.
func (c Component) Label() string {
	hidden := strings.Replace(c.Name, "_", "/", 1) // the feature has no _
	switch {
	case c.URI != "":
		return c.Name + " (" + c.URI + ")"
	case c.Retired:
		return hidden + " (retired)"
	case c.Internal:
		return hidden + " (internal)"
	}
	return c.Name
}

// IsTool reports whether clients see the component as a tool.
func (c Component) IsTool() bool { return c.Kind.IsTool() && !c.isHidden() }

// isHidden reports whether clients do not see the component.
func (c Component) isHidden() bool { return c.Internal || c.Retired }

// Matches reports whether name is a name of the component: for clients, in Go, or in the event log.
func (c Component) Matches(name string) bool {
	switch c.Kind {
	case Feature:
		return c.Name == name
	case Type:
		return c.Name == name || path.Dir(c.File)+"/"+c.Func == name
	}
	return c.Name == name || c.Func == name || slices.Contains(c.Aliases, name) || c.Name == strings.ReplaceAll(name, "-", "_") || strings.HasSuffix(c.Func, "."+name) ||
		c.Feature != "" && (name == c.Feature+"/"+c.localName() || name == c.Feature+"/"+gen.WireName(c.Func))
}

// method returns the name of the function or method, and whether it is a method.
func (c Component) method() (string, bool) {
	if _, name, isMethod := strings.Cut(c.Func, "."); isMethod {
		return name, true
	}
	return c.Func, false
}

// Method returns the method of a command, query or worker that does the work. It is empty for a
// worker with several, and for other kinds.
func (c Component) Method() string {
	switch {
	case c.Kind == Command:
		return "Apply"
	case c.Kind == Query:
		return "Answer"
	case len(c.triggers) == 1:
		return c.triggers[0].method
	}
	return ""
}

// localName returns the name of a command, query or worker within its feature.
func (c Component) localName() string {
	name := c.Name
	switch c.Kind {
	case Command:
		name = c.EventType
	case Query:
		name = c.Feature + "/" + gen.WireName(c.Func)
	}
	return strings.TrimPrefix(name, c.Feature+"/")
}

func (c Component) isTemplate() bool { return c.Kind == Resource && len(c.arguments) > 0 }

func (c Component) hasCompletion() bool {
	return c.completer != "" || (c.Kind == Prompt || c.isTemplate()) && strings.Contains(string(c.Input), `"enum":`)
}

// Version returns the version of a command.
func (c Component) Version() int { return c.version }

// Stored returns the fields of a command's events in its current version.
func (c Component) Stored() contract.Shape { return c.stored }

// WritesOlder reports whether a command writes events of an older version, whose fields are then
// its input.
func (c Component) WritesOlder() bool { return c.writes != 0 }

// NotDowngraded returns the newest older version whose next version has no method Downgrade: its
// type, that of the next version, and its file. They are empty if there is none.
func (c Component) NotDowngraded() (old, next, file string) {
	for _, o := range slices.Backward(c.oldVersions) {
		if !o.back {
			return o.name, o.next, o.file
		}
	}
	return "", "", ""
}

// OlderFiles returns the files, except that of the command, that declare its older versions.
func (c Component) OlderFiles() (files []string) {
	for _, o := range c.oldVersions {
		if o.file != c.File && !slices.Contains(files, o.file) {
			files = append(files, o.file)
		}
	}
	return files
}

// A Package is the result of deriving from a package.
type Package struct {
	Place
	Components []Component // sorted by name
	File       string      // path of the derived file
	Text       []byte      // its content; nil if the package has no components

	// Problems are errors. If there are any, the derived file does not change.
	Problems []typecheck.Diagnostic
	Warnings []typecheck.Diagnostic

	hasNew      bool // the package has func New, the constructor of the type whose methods are components
	completers  []completer
	forms       []form // by name
	hasMap      bool   // the package has func Map
	mappers     []mapper
	oldVersions []oldVersion // types that may be older versions of commands
}

// An oldVersion is the type of an older version of a command: func (old CreateV1) Upgrade() Create.
type oldVersion struct {
	command string // Go type of the command
	version int
	name    string // Go type of this version
	next    string // result type of Upgrade
	back    bool   // next has a method Downgrade that returns this version
	shape   contract.Shape
	file    string
	line    int
}

// tools returns the tools of a package that the server registers.
func (p *Package) tools() (tools []Component) {
	for _, c := range p.Components {
		if len(p.Problems) == 0 && p.Wired && c.IsTool() {
			tools = append(tools, c.WithAliases()...)
		}
	}
	return tools
}

// Workers returns the workers of a feature, such as posts/digest, from its derived file, which may
// be nil.
func Workers(derived *typecheck.File) []string {
	if derived == nil || path.Dir(derived.Dir()) != Features || !derived.IsDerived() {
		return nil
	}
	var names []string
	for _, call := range workerCall.FindAllSubmatch(derived.Text, -1) {
		names = append(names, path.Base(derived.Dir())+"/"+string(call[1]))
	}
	return names
}

var workerCall = regexp.MustCompile(`app\.WorkerOf\("([^"]+)"`)

// HasMap reports whether the feature of a command has a func Map, which may convert older versions.
func HasMap(packages []*Package, entry string) bool {
	feature, _, _ := strings.Cut(entry, "/")
	for _, pkg := range packages {
		if pkg.Kind == Feature && pkg.featureName() == feature {
			return pkg.hasMap
		}
	}
	return false
}

// A completer is a function that completes the arguments of a prompt or the variables of a URI.
type completer struct {
	function string // or Type.Method
	of       string // name of the prompt or resource
	pos      token.Pos
}

// A mapper is a function of a feature that reads events of one type, that of a removed command:
//
//	//petrock:map scratch/poke
//	func MapPoke(old eventlog.Record) (Create, error)
//
// With the directive, func Map states which types it reads.
type mapper struct {
	function  string
	eventType string
	pos       token.Pos
	line      typecheck.Diagnostic // of the directive, without a message
}

// A trigger is a method that runs after each command of a type, or at an interval.
type trigger struct {
	method string
	every  time.Duration // 0 for a method that follows commands
}

// Contract returns the contract of packages, without history: list entries, capabilities, and the
// versions of commands in the source. It leaves out packages with problems.
func Contract(packages []*Package) (*contract.Contract, error) {
	all := contract.New()
	all.Capabilities["logging"] = json.RawMessage(`{}`)
	for _, pkg := range packages {
		if !pkg.Wired || len(pkg.Problems) > 0 {
			continue
		}
		for _, c := range pkg.Components {
			for _, c := range c.WithAliases() {
				if err := c.addListEntry(all); err != nil {
					return nil, fmt.Errorf("encode the list entry of %s: %w", c.Name, err)
				}
			}
			if c.Kind == Command {
				versions := map[int]contract.Shape{c.version: c.stored}
				for _, o := range c.oldVersions {
					versions[o.version] = o.shape
				}
				all.Commands[c.EventType] = contract.Command{Version: c.version, Retired: c.Retired, Versions: versions}
			}
			c.addCapabilities(all.Capabilities)
		}
	}
	return all, nil
}

func (c Component) addCapabilities(capabilities map[string]json.RawMessage) {
	switch {
	case c.IsTool():
		capabilities["tools"] = json.RawMessage(`{"listChanged":true}`)
	case c.Kind == Prompt:
		capabilities["prompts"] = json.RawMessage(`{"listChanged":true}`)
	case c.Kind == Resource, c.Kind == Feature: // features have a resource for the event log
		capabilities["resources"] = json.RawMessage(`{"subscribe":true,"listChanged":true}`)
	}
	if c.hasCompletion() {
		capabilities["completions"] = json.RawMessage(`{}`)
	}
}

// addListEntry adds the list entry of a tool, resource, template or prompt. Other components have
// none.
func (c Component) addListEntry(all *contract.Contract) (err error) {
	switch {
	case c.IsTool():
		all.Tools[c.Name], err = strictjson.Marshal(mcp.Tool{
			Name: c.Name, Title: c.Title, Description: c.Description,
			InputSchema: c.Input, OutputSchema: c.Output, Scopes: c.scopes, Annotations: c.annotations,
		})
	case c.isTemplate():
		all.ResourceTemplates[c.Name], err = strictjson.Marshal(mcp.ResourceTemplate{URITemplate: c.URI, Name: c.Name, Title: c.Title, Description: c.Description, MIMEType: c.MIMEType})
	case c.Kind == Resource:
		all.Resources[c.Name], err = strictjson.Marshal(mcp.Resource{URI: c.URI, Name: c.Name, Title: c.Title, Description: c.Description, MIMEType: c.MIMEType})
	case c.Kind == Prompt:
		prompt := mcp.Prompt{Name: c.Name, Title: c.Title, Description: c.Description}
		for _, p := range inference.Properties(c.Input) {
			prompt.Arguments = append(prompt.Arguments, mcp.PromptArgument{Name: p.Name, Description: p.Description, Required: p.Required})
		}
		all.Prompts[c.Name], err = strictjson.Marshal(prompt)
	}
	return err
}
