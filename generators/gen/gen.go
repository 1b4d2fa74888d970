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

// A Project is what a generator knows of a project.
type Project struct {
	Name     string            // of the project, and of its server's program
	Module   string            // path of the Go module
	Packages map[string]string // package names by folder

	// Function finds a function of the project: ./folder.Function or ./folder.Variable.Method. The
	// error says why no tool can call it. Function may be nil in tests of generators.
	Function func(ref string) (*Function, error)

	// Feature returns a feature by its name, or nil. Feature may be nil in tests of generators.
	Feature func(name string) *Feature

	// Migrate edits the fields of a recorded command, such as posts/create, for a new version. Migrate
	// may be nil in tests of generators.
	Migrate func(entry string, edit Edit) (*Migration, error)
}

// Import returns the import path of a folder of the project.
func (p Project) Import(dir string) string { return path.Join(p.Module, dir) }

// Package returns the name of the package in a folder: the folder's name if it has no package yet.
func (p Project) Package(dir string) string {
	if name := p.Packages[dir]; name != "" {
		return name
	}
	return path.Base(dir)
}

// A Draft is the result of a generator.
type Draft struct {
	Kind  string   // of the component
	Name  string   // of the component, as clients see it
	Files []File   // new files, which must not exist
	Next  []string // next steps for the user, one sentence each

	// Changes are existing files with new texts: renames and migrations that the user asked for.
	// Settles is the command whose versions they settle, such as posts/create.
	Changes []File
	Settles string

	// Trial is built and run before anything is written.
	Trial Trial
}

// A Trial is a program to build and a test to run over the planned files. The zero value is none.
type Trial struct {
	Program  string    // folder of a program that has to build
	Test     string    // name of a test in the package of the first file
	Examples []Example // the examples that the subtests are made of, in order
}

// An Example is an input of a component, and the expected output or error.
type Example struct {
	Name   string          `json:"name"`             // What it shows
	Input  json.RawMessage `json:"input,omitempty"`  // What the component is given
	Output json.RawMessage `json:"output,omitempty"` // What it is to give back
	Error  string          `json:"error,omitempty"`  // A part of the error that it is to give instead
}

// A File is a file of a draft.
type File struct {
	Path string // from the project's root, with slashes
	Text []byte

	// Seek adds the imports that the file lacks. Imports are added as they are.
	Seek    bool
	Imports []Import
}

// An Import is a package that a file imports.
type Import struct {
	Name string // its name in the file; empty if it is the package's own
	Path string
}

// A SourceError is a syntax error in Go that is part of an input.
type SourceError struct {
	What         string // the field of the input, such as body
	Text         string // all of it
	Line, Column int
	Message      string
}

// Error returns the position and the message.
func (e *SourceError) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.What, e.Line, e.Column, e.Message)
}

// A Generator is a generator with its description and input schema.
type Generator struct {
	Name        string          // such as tool
	Description string          // lists show its first sentence
	InputSchema json.RawMessage // JSON Schema of the input
	Make        func(p Project, input json.RawMessage) (Draft, error)
}

// Typed adapts a function of Go types for [Generator].
func Typed[In any](f func(Project, In) (Draft, error)) func(Project, json.RawMessage) (Draft, error) {
	return func(p Project, input json.RawMessage) (Draft, error) {
		var in In
		if err := strictjson.Unmarshal(input, &in); err != nil {
			return Draft{}, fmt.Errorf("invalid input: %w", err)
		}
		return f(p, in)
	}
}
