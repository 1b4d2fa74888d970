// Package parts describes the optional code of projects. A part is petrock code that not every
// project needs: packages below core and the modules that they require. A project that does not use
// a part has its code as an archive, generators/parts/NAME.txtar, which Go does not compile.
package parts

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"golang.org/x/tools/txtar"

	"github.com/petrock/petrock/generators/imports"
)

// A Part is optional code.
type Part struct {
	Name        string
	Description string   // one line, for people
	Folders     []string // folders of its code, recursively
	Except      []string // folders below Folders that belong to other parts
	Needs       []string // parts that its code imports
	For         []string // folders of the user's code that need it, recursively
	Extension   string   // folder of its package that extends the server; may be empty
}

// All returns the parts, sorted by name.
func All() []Part {
	return []Part{
		{
			Name:        "app",
			Description: "features with an event log in SQLite",
			Folders:     []string{"core/app"},
			Except:      []string{"core/app/postgres"},
			For:         []string{"features"},
		},
		{
			Name:        "client",
			Description: "the client of MCP servers over HTTP",
			Folders:     []string{"core/client/clienthttp"},
		},
		{
			Name:        "oauth",
			Description: "OAuth 2.1 bearer tokens for the server over HTTP",
			Folders:     []string{"core/auth/oauth", "core/auth/token"},
			Extension:   "core/auth/oauth",
		},
		{
			Name:        "postgres",
			Description: "features with an event log in PostgreSQL, for servers on several machines",
			Folders:     []string{"core/app/postgres"},
			Needs:       []string{"app"},
		},
	}
}

// Find returns the part with a name.
func Find(name string) (Part, bool) {
	for _, part := range All() {
		if part.Name == name {
			return part, true
		}
	}
	return Part{}, false
}

// Names returns the names of all parts, sorted.
func Names() []string {
	var names []string
	for _, part := range All() {
		names = append(names, part.Name)
	}
	return names
}

// Folder is the folder of the archives in a project.
const Folder = "generators/parts"

// Archive returns the path of the part's archive in a project.
func (p Part) Archive() string { return path.Join(Folder, p.Name+".txtar") }

// Holds reports whether a file or folder of a project belongs to the part.
func (p Part) Holds(file string) bool { return isBelow(file, p.Folders) && !isBelow(file, p.Except) }

// IsUsedBy reports whether a file of the user needs the part: it imports one of the part's
// packages, or is in a folder that needs it.
func (p Part) IsUsedBy(file, module string, importPaths []string) bool {
	if isBelow(file, p.For) {
		return true
	}
	return slices.ContainsFunc(importPaths, func(imported string) bool {
		inside, ok := strings.CutPrefix(imported, module+"/")
		return ok && p.Holds(inside)
	})
}

func isBelow(file string, folders []string) bool {
	return slices.ContainsFunc(folders, func(folder string) bool {
		return file == folder || strings.HasPrefix(file, folder+"/")
	})
}

// moduleLine starts the line of an archive with the module path of its imports.
const moduleLine = "module "

// Pack returns the archive of the part's files. module is the module path of their imports.
func (p Part) Pack(module string, files map[string][]byte) []byte {
	archive := &txtar.Archive{Comment: fmt.Appendf(nil,
		"The part %s: %s.\nRun petrock add %s to use it.\n\n%s%s\n\n", p.Name, p.Description, p.Name, moduleLine, module)}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		archive.Files = append(archive.Files, txtar.File{Name: name, Data: files[name]})
	}
	return txtar.Format(archive)
}

// Unpack returns the files of the part's archive by path, with imports rewritten to module. It
// refuses files that do not belong to the part.
func (p Part) Unpack(module string, text []byte) (map[string][]byte, error) {
	archive := txtar.Parse(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")))
	from := ""
	for line := range strings.Lines(string(archive.Comment)) {
		if name, ok := strings.CutPrefix(line, moduleLine); ok {
			from = strings.TrimSpace(name)
		}
	}
	if from == "" || len(archive.Files) == 0 {
		return nil, fmt.Errorf("%s is not an archive of a part; restore it from version control", p.Archive())
	}
	files := map[string][]byte{}
	for _, file := range archive.Files {
		if !p.Holds(file.Name) || path.Clean(file.Name) != file.Name {
			return nil, fmt.Errorf("%s: %s does not belong to the part; restore the archive from version control", p.Archive(), file.Name)
		}
		moved, err := imports.Rewrite(file.Name, file.Data, []imports.Move{{From: from, To: module}})
		if err != nil {
			return nil, fmt.Errorf("%s: %w; restore it from version control", p.Archive(), err)
		}
		files[file.Name] = moved
	}
	return files, nil
}
