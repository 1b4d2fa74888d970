// Package parts describes the optional code of projects. A part is petrock code that not every
// project needs: packages below core and the modules that they require. A project that does not use
// a part has its code as an archive, generators/parts/NAME.txtar, which Go does not compile.
package parts

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
	"golang.org/x/tools/txtar"

	"github.com/petrock/petrock/generators/gen"
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
	Generators  string   // folder of its package of generators; may be empty
	Purity      string   // folder of its package that checks features; may be empty
}

// All returns the parts, sorted by name.
func All() []Part {
	return []Part{
		{
			Name:        "app",
			Description: "features with an event log in SQLite",
			Folders:     []string{"core/app", "generators/purity", "generators/versions"},
			Except:      []string{"core/app/postgres"},
			For:         []string{"features"},
			Generators:  "generators/versions",
			Purity:      "generators/purity",
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
func Names() (names []string) {
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

// Linked is the file that lists petrock's generators in a project: those of every project, and
// those of its parts.
const Linked = "generators/linked/linked.go"

// LinkedText returns the text of [Linked] for the parts that a project has.
func LinkedText(module string, names []string) ([]byte, error) {
	file := gen.NewGoFile(path.Join(module, path.Dir(Linked)), "linked")
	file.PackageComment("// Package linked lists petrock's generators: those of every project, and those of its parts. It\n// changes when a part comes or goes.")
	dirs := []string{"generators"}
	for _, part := range All() {
		if part.Generators != "" && slices.Contains(names, part.Name) {
			dirs = append(dirs, part.Generators)
		}
	}
	var lists []string
	for _, dir := range dirs {
		file.ImportName(path.Join(module, dir), path.Base(dir))
		lists = append(lists, file.Ref(path.Join(module, dir), "All")+"()")
	}
	generator := path.Join(module, "generators/gen")
	file.ImportName(generator, "gen")
	list := lists[0]
	if len(lists) > 1 {
		list = file.Ref("slices", "Concat") + "(" + strings.Join(lists, ", ") + ")"
	}
	typecheck := path.Join(module, "generators/typecheck")
	file.ImportName(typecheck, "typecheck")
	purity := "nil"
	for _, part := range All() {
		if part.Purity != "" && slices.Contains(names, part.Name) {
			file.ImportName(path.Join(module, part.Purity), path.Base(part.Purity))
			purity = file.Ref(path.Join(module, part.Purity), "Find")
		}
	}
	file.Text(fmt.Sprintf("// All returns the generators.\nfunc All() []%s { return %s }\n\n// Purity checks features. It is nil without them.\nfunc Purity() %s { return %s }",
		file.Ref(generator, "Generator"), list, file.Ref(typecheck, "PurityFinder"), purity))
	return file.Bytes()
}

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

// modules holds go.mod and go.sum of a project without parts, and the additions of each part in
// PART/go.mod and PART/go.sum. A test derives it with go mod tidy.
//
//go:embed modules.txtar
var modules []byte

// requirements are the requirements of a go.mod, by path, and the hashes of a go.sum.
type requirements struct {
	modules map[string]requirement
	sums    map[module.Version]string
}

type requirement struct {
	version  string
	indirect bool
}

// requirementsOf returns the requirements of a project with the parts.
func requirementsOf(names []string) (requirements, error) {
	all := requirements{map[string]requirement{}, map[module.Version]string{}}
	for _, file := range txtar.Parse(modules).Files {
		if part := path.Dir(file.Name); part != "." && !slices.Contains(names, part) {
			continue
		}
		switch path.Base(file.Name) {
		case "go.mod":
			parsed, err := modfile.Parse(file.Name, file.Data, nil)
			if err != nil {
				return all, fmt.Errorf("read %w", err)
			}
			for _, r := range parsed.Require {
				before, both := all.modules[r.Mod.Path]
				all.modules[r.Mod.Path] = requirement{r.Mod.Version, r.Indirect && (!both || before.indirect)}
			}
		case "go.sum":
			maps.Copy(all.sums, parseSums(file.Data))
		}
	}
	return all, nil
}

// Required returns the modules that a part adds to a project without parts.
func (p Part) Required() ([]module.Version, error) {
	without, err := requirementsOf(nil)
	with, withErr := requirementsOf([]string{p.Name})
	if err := errors.Join(err, withErr); err != nil {
		return nil, err
	}
	var all []module.Version
	for name, r := range with.modules {
		if _, both := without.modules[name]; !both {
			all = append(all, module.Version{Path: name, Version: r.version})
		}
	}
	module.Sort(all)
	return all, nil
}

// ChangeModules returns the go.mod and go.sum of a project after its parts change. imported are the
// import paths that the project uses. It reports false if go mod tidy must decide: the project
// replaces or excludes one of the modules, requires it at another version, or may still need a
// module that the parts no longer require.
func ChangeModules(goMod, goSum []byte, before, after, imported []string) (newMod, newSum []byte, ok bool, err error) {
	was, wasErr := requirementsOf(before)
	wanted, wantedErr := requirementsOf(after)
	parsed, have, err := parseModules(goMod)
	if err := errors.Join(wasErr, wantedErr, err); err != nil {
		return nil, nil, false, err
	}
	var special []string // modules that the project replaces or excludes
	for _, r := range parsed.Replace {
		special = append(special, r.Old.Path)
	}
	for _, x := range parsed.Exclude {
		special = append(special, x.Mod.Path)
	}
	others := len(special) > 0 // whether the project has requirements of its own
	for _, name := range special {
		if _, ours := wanted.modules[name]; ours {
			return nil, nil, false, nil
		}
	}
	for name := range have {
		_, ours := was.modules[name]
		others = others || !ours
	}
	sums := parseSums(goSum)
	for name, r := range wanted.modules {
		now, required := have[name]
		if required && now.version != r.version {
			return nil, nil, false, nil
		}
		have[name] = requirement{r.version, r.indirect && (!required || now.indirect)}
	}
	maps.Copy(sums, wanted.sums)
	var gone []string
	for name := range was.modules {
		if _, stays := wanted.modules[name]; !stays {
			gone = append(gone, name)
			delete(have, name)
			others = others || slices.ContainsFunc(imported, func(i string) bool { return isBelow(i, []string{name}) })
		}
	}
	if others && len(gone) > 0 {
		return nil, nil, false, nil
	}
	for m := range was.sums {
		if len(gone) > 0 && wanted.sums[m] == "" {
			delete(sums, m)
		}
	}
	newMod, err = setRequired(goMod, have, gone)
	return newMod, formatSums(sums), err == nil, err
}

// MergeTidied merges the result of go mod tidy into the go.mod and go.sum of a project whose parts
// have changed. It keeps unused requirements of the user, and ignores new ones that no part needs.
func MergeTidied(goMod, goSum, tidyMod, tidySum []byte, before, after []string) (newMod, newSum []byte, err error) {
	was, wasErr := requirementsOf(before)
	wanted, wantedErr := requirementsOf(after)
	_, have, err := parseModules(goMod)
	_, tidied, tidyErr := parseModules(tidyMod)
	if err := errors.Join(wasErr, wantedErr, err, tidyErr); err != nil {
		return nil, nil, err
	}
	merged := map[string]requirement{}
	var gone []string
	for name, r := range tidied {
		_, theirs := have[name]
		if _, ours := wanted.modules[name]; ours || theirs {
			merged[name] = r
		}
	}
	for name, r := range have {
		if _, stays := merged[name]; stays {
			continue
		}
		if _, ours := was.modules[name]; ours {
			gone = append(gone, name)
		} else {
			merged[name] = r
		}
	}
	sums := parseSums(tidySum)
	others := parseSums(goSum)
	maps.Copy(others, wanted.sums) // without a network, tidy may omit some
	for m, hash := range others {
		version, _, _ := strings.Cut(m.Version, "/")
		now, both := tidied[m.Path]
		isOld := both && now.version != version
		if !isOld && (was.sums[m] == "" || wanted.sums[m] != "") {
			sums[m] = hash
		}
	}
	newMod, err = setRequired(goMod, merged, gone)
	return newMod, formatSums(sums), err
}

// Require returns a go.mod that requires the modules of parts, in their versions or later ones.
func Require(goMod []byte, names []string) ([]byte, error) {
	needed, neededErr := requirementsOf(names)
	_, have, err := parseModules(goMod)
	if err := errors.Join(neededErr, err); err != nil {
		return nil, err
	}
	for name, r := range needed.modules {
		if semver.Compare(have[name].version, r.version) < 0 { // or it is not required
			have[name] = r
		}
	}
	return setRequired(goMod, have, nil)
}

// parseModules parses a go.mod, and returns its requirements by path.
func parseModules(goMod []byte) (*modfile.File, map[string]requirement, error) {
	parsed, err := modfile.Parse("go.mod", goMod, nil)
	if err != nil {
		return nil, nil, fmt.Errorf("read %w", err)
	}
	required := map[string]requirement{}
	for _, r := range parsed.Require {
		required[r.Mod.Path] = requirement{r.Mod.Version, r.Indirect}
	}
	return parsed, required, nil
}

// setRequired returns a go.mod with these requirements, direct ones first.
func setRequired(goMod []byte, wanted map[string]requirement, gone []string) ([]byte, error) {
	parsed, _, err := parseModules(goMod)
	if err != nil {
		return nil, err
	}
	for _, name := range gone {
		if err := parsed.DropRequire(name); err != nil {
			return nil, fmt.Errorf("go.mod: %w", err)
		}
	}
	parsed.Cleanup()
	var list []*modfile.Require
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		list = append(list, &modfile.Require{Mod: module.Version{Path: name, Version: wanted[name].version}, Indirect: wanted[name].indirect})
	}
	parsed.SetRequireSeparateIndirect(list)
	parsed.Cleanup()
	return parsed.Format()
}

// parseSums parses a go.sum. Its versions may end with /go.mod.
func parseSums(text []byte) map[module.Version]string {
	sums := map[module.Version]string{}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) == 3 {
			sums[module.Version{Path: fields[0], Version: fields[1]}] = fields[2]
		}
	}
	return sums
}

// formatSums returns a go.sum, sorted as the go command sorts it.
func formatSums(sums map[module.Version]string) []byte {
	order := slices.Collect(maps.Keys(sums))
	module.Sort(order)
	var out bytes.Buffer
	for _, m := range order {
		fmt.Fprintln(&out, m.Path, m.Version, sums[m])
	}
	return out.Bytes()
}
