// Package gen is the toolbox of generators: what they know of a project ([Project], [Function],
// [Feature]), what they take ([Name], [Field]), and what they return ([Draft]).
//
// A generator is a pure function from a project and an input to files. It neither reads nor writes
// anything; package engine plans, verifies, applies and records what it returns.
//
//	// Tool makes a tool.
//	func Tool(p gen.Project, in ToolInput) (gen.Draft, error)
package gen

import (
	"encoding/json"
	"fmt"
	"path"

	"github.com/petrock/petrock/core/strictjson"
)

// A Project is what a generator knows of the project that it works for.
type Project struct {
	Name     string            // of the project, and of its server's program
	Module   string            // path of the Go module
	Packages map[string]string // by folder, the name of the package that is there

	// Function finds a function of the project: ./folder.Function or ./folder.Variable.Method. The
	// error says why no tool can call it. Function may be nil for generators that do not ask.
	Function func(ref string) (*Function, error)

	// Feature tells what there is of a feature, by its name; nil if the project has none of that name. Feature
	// may be nil for generators that do not ask.
	Feature func(name string) *Feature

	// Migrate edits the fields of a recorded command, such as posts/create, for a new version of it. Migrate may be nil for
	// generators that do not ask.
	Migrate func(entry string, edit Edit) (*Migration, error)
}

// Import is the import path of a folder of the project.
func (p Project) Import(dir string) string { return path.Join(p.Module, dir) }

// Package is the name of the package in a folder, which is that of the folder if there is none yet.
func (p Project) Package(dir string) string {
	if name := p.Packages[dir]; name != "" {
		return name
	}
	return path.Base(dir)
}

// A Draft is what a generator makes.
type Draft struct {
	Kind  string   // of the component
	Name  string   // of the component, as clients see it
	Files []File   // new ones, none of which may exist
	Next  []string // what to do now, one sentence each

	// Changes are existing files with a new text: renames and migrations that the user asked for. Settles is the command
	// whose versions they settle, such as posts/create.
	Changes []File
	Settles string

	// Trial is how the component shows that it works, before anything is written.
	Trial Trial
}

// A Trial is what is built and run over the planned files. The zero value is nothing.
type Trial struct {
	Program  string    // a folder with a program that has to build
	Test     string    // the name of a test in the package of the first file
	Examples []Example // what the test's subtests are made of, in their order
}

// An Example is what a component is given, and what comes of it.
type Example struct {
	Name   string          `json:"name"`             // What it shows
	Input  json.RawMessage `json:"input,omitempty"`  // What the component is given
	Output json.RawMessage `json:"output,omitempty"` // What it is to give back
	Error  string          `json:"error,omitempty"`  // A part of the error that it is to give instead
}

// A File is a new file.
type File struct {
	Path string // from the project's root, with slashes
	Text []byte

	// Seek has the imports added that the file lacks: packages that it names and nothing declares. Those
	// in Imports are what they are, whatever else has their names.
	Seek    bool
	Imports []Import
}

// An Import is a package that a file imports.
type Import struct {
	Name string // by which the file calls it; empty if it is the package's own
	Path string
}

// A SourceError says what is wrong with Go that somebody has sent as a part of an input.
type SourceError struct {
	What         string // the part, such as body
	Text         string // all of it
	Line, Column int
	Message      string
}

// Error is the place and what is wrong there.
func (e *SourceError) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.What, e.Line, e.Column, e.Message)
}

// A Generator is a generator with all that is known of it.
type Generator struct {
	Name        string          // such as tool
	Description string          // what it makes; its first sentence stands for it in lists
	InputSchema json.RawMessage // of what it takes
	Make        func(p Project, input json.RawMessage) (Draft, error)
}

// Typed makes what [Generator] wants of a function of Go types.
func Typed[In any](f func(Project, In) (Draft, error)) func(Project, json.RawMessage) (Draft, error) {
	return func(p Project, input json.RawMessage) (Draft, error) {
		var in In
		if err := strictjson.Unmarshal(input, &in); err != nil {
			return Draft{}, fmt.Errorf("invalid input: %w", err)
		}
		return f(p, in)
	}
}
