package scaffold

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"

	"github.com/petrock/petrock/core/project"
	"github.com/petrock/petrock/core/terminal"
	"github.com/petrock/petrock/generators"
	"github.com/petrock/petrock/generators/engine"
)

// A File is one file of a project.
type File struct {
	Path string // from the project's root, with slashes
	Data []byte
}

// Make is the project that the answers lead to, sorted by path. The error says what is wrong
// with the answers, or with petrock itself.
func (s Sources) Make(a Answers) ([]File, error) {
	if err := s.Check(a); err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	put := func(file string, data []byte) { files[file] = data }
	for _, tree := range s.trees(a) {
		if err := tree.read(a.Name, put); err != nil {
			return nil, err
		}
	}
	if err := adapt(files, a); err != nil {
		return nil, err
	}
	if err := wire(files, a); err != nil {
		return nil, err
	}
	if err := render(s.Templates, a, put); err != nil {
		return nil, err
	}
	if err := checkRequirements(files["go.mod"], a); err != nil {
		return nil, err
	}
	manifest := project.Manifest{Petrock: generators.Version, Name: a.Name, Module: a.Module, Example: a.Example, OAuth: a.OAuth}
	text, err := manifest.Encode()
	if err != nil {
		return nil, err
	}
	put(engine.SumFile, sum(files).Encode())
	put(project.FileName, text)
	var made []File
	for _, file := range slices.Sorted(maps.Keys(files)) {
		made = append(made, File{Path: file, Data: files[file]})
	}
	return made, nil
}

// Check says what is wrong with the answers.
func (s Sources) Check(a Answers) error {
	if err := CheckName(a.Name); err != nil {
		return err
	}
	if err := CheckModule(a.Module); err != nil {
		return err
	}
	if a.Example == "" {
		return nil
	}
	switch examples := s.Examples(); {
	case len(examples) == 0:
		return fmt.Errorf("there is no example %q, nor any other in this version; leave --example away for a plain project", a.Example)
	case !slices.Contains(examples, a.Example):
		return fmt.Errorf("there is no example %q; there are %s", a.Example, strings.Join(examples, ", "))
	}
	return nil
}

// adapt makes Go that was written in petrock's module that of the project.
func adapt(files map[string][]byte, a Answers) error {
	moves := moves(a)
	for name, src := range files {
		if path.Ext(name) != ".go" {
			continue
		}
		moved, err := moveImports(name, src, moves)
		if err != nil {
			return err
		}
		files[name] = moved
	}
	main := path.Join("cmd", a.Name, "main.go")
	named, err := setField(main, files[main], "Name", a.Name)
	if err != nil {
		return err
	}
	files[main] = named
	return nil
}

// checkRequirements refuses the path of a module that the project itself needs.
func checkRequirements(goMod []byte, a Answers) error {
	parsed, err := modfile.Parse("go.mod", goMod, nil)
	if err != nil {
		return fmt.Errorf("reading %w", err)
	}
	for _, require := range parsed.Require {
		if require.Mod.Path == a.Module {
			return &terminal.UsageError{Err: fmt.Errorf("%q cannot be the path of a module: the project requires one of that path", a.Module)}
		}
	}
	return nil
}

// sum records petrock's own files, and the Go files that the user starts with: destroy removes
// those without asking for as long as nobody has edited them.
func sum(files map[string][]byte) engine.Sum {
	s := engine.Sum{}
	for name, data := range files {
		folder, _, _ := strings.Cut(name, "/")
		if slices.Contains(engine.PetrockFolders(), folder) || path.Ext(name) == ".go" && folder != "cmd" {
			s.Add(name, data)
		}
	}
	return s
}
