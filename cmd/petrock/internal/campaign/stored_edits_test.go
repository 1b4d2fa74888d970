package campaign_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/engine"
)

// byHand changes files, as a user would.
func (h *history) byHand(edits []engine.FileEdit) {
	h.Helper()
	h.isOpen = true
	for _, edit := range edits {
		text, err := json.Marshal(edit)
		if err != nil {
			h.Fatal(err)
		}
		h.Logf("%s: by hand: %s", h.now, text)
		switch {
		case edit.Delete:
			err = os.Remove(h.path(edit.Path))
		case edit.Rename != "":
			err = os.Rename(h.path(edit.Path), h.path(edit.Rename))
		default:
			h.write(edit.Path, *edit.Text)
		}
		if err != nil {
			h.Fatal(err)
		}
	}
}

// edit returns a random edit of a command, and the command.
func (h *history) edit() (edits []engine.FileEdit, command string) {
	all := h.components(derive.Command)
	if len(all) == 0 {
		return nil, ""
	}
	c := one(h.maker, all...)
	before := h.read(c.File)
	files := append([]string{c.File}, c.OlderFiles()...)
	for _, file := range slices.Clone(files) {
		test := strings.TrimSuffix(file, ".go") + "_test.go"
		if _, err := os.Stat(h.path(test)); err == nil {
			files = append(files, test)
		}
	}
	var remove []engine.FileEdit
	for _, file := range files {
		remove = append(remove, engine.FileEdit{Path: file, Delete: true})
	}
	set := func(file, text string) engine.FileEdit { return engine.FileEdit{Path: file, Text: &text} }
	head := regexp.MustCompile(`(?m)^type ` + c.Func + ` struct ?\{`)
	insert := func(field string) []engine.FileEdit {
		at := head.FindStringIndex(before)
		if at == nil || strings.HasPrefix(before[at[1]:], "}") {
			return nil
		}
		return []engine.FileEdit{set(c.File, before[:at[1]]+"\n"+field+before[at[1]:])}
	}
	// line changes the line of a random field.
	line := func(change func(line []string) string) []engine.FileEdit {
		fields := c.Stored().Fields
		if len(fields) == 0 {
			return nil
		}
		pattern := regexp.MustCompile("(?m)^\t(\\w+) +(\\S+) +`json:\"" + fields[h.IntN(len(fields))].Name + "(,\\w+)?\"`.*\n")
		found := pattern.FindStringSubmatch(before)
		if found == nil {
			return nil
		}
		return []engine.FileEdit{set(c.File, strings.Replace(before, found[0], change(found), 1))}
	}
	name := h.newName("a")
	goName := strings.ToUpper(name)
	switch h.IntN(12) {
	case 0:
		edits = remove
	case 1:
		edits = line(func(line []string) string { return "" })
	case 2:
		edits = line(func(line []string) string {
			return regexp.MustCompile(`json:"\w+`).ReplaceAllString(line[0], `json:"`+name)
		})
	case 3:
		edits = line(func(line []string) string {
			return strings.Replace(line[0], " "+line[2]+" ", " "+one(h.maker, "string", "int", "[]string", "int64", "float64", "*string")+" ", 1)
		})
	case 4:
		edits = insert("\t" + goName + " string `json:\"" + name + "\"`\n")
	case 5:
		edits = insert("\t" + goName + " *string `json:\"" + name + ",omitempty\"`\n")
	case 6:
		if edits = insert("\t" + goName + " []" + c.Func + goName + " `json:\"" + name + ",omitzero\"`\n"); edits != nil {
			text := *edits[0].Text + "\n// " + c.Func + goName + " is nested.\ntype " + c.Func + goName + " struct {\n\tText string `json:\"text\"`\n\tMore []" + c.Func + goName + " `json:\"more,omitempty\"`\n}\n"
			edits[0].Text = &text
		}
	case 7:
		edits = []engine.FileEdit{{Path: c.File, Rename: path.Join(path.Dir(c.File), h.newName("moved")+".go")}}
	case 8:
		edits = append(slices.DeleteFunc(remove, func(edit engine.FileEdit) bool { return !strings.HasSuffix(edit.Path, "_test.go") }),
			set(c.File, head.ReplaceAllString(before, "//\n//petrock:retired\n$0")))
	case 9:
		target, body, ok := h.target(c.EventType)
		if ok {
			feature, command, _ := strings.Cut(target, "/")
			edits = append(remove, set("features/"+feature+"/"+name+".go", fmt.Sprintf("package %s\n\nimport \"%s/core/app/eventlog\"\n\n// map%s reads old events.\n//\n//petrock:map %s\nfunc map%[3]s(old eventlog.Record) (%[5]s, error) {\n\t%[6]s\n}\n",
				feature, module, goName, c.EventType, strings.ToUpper(command), body)))
		}
	case 10: // another name in the event log
		pattern := regexp.MustCompile(`\b` + c.Func + `(V\d+|Output)?\b`)
		for _, file := range append([]string{c.File}, c.OlderFiles()...) {
			edits = append(edits, set(file, pattern.ReplaceAllString(h.read(file), goName+"$1")))
		}
		for _, edit := range remove {
			if strings.HasSuffix(edit.Path, "_test.go") {
				edits = append(edits, edit)
			}
		}
	case 11:
		if older := c.OlderFiles(); len(older) > 0 {
			edits = slices.DeleteFunc(remove, func(edit engine.FileEdit) bool {
				return !strings.HasPrefix(edit.Path, strings.TrimSuffix(older[0], ".go"))
			})
		}
	}
	return edits, c.EventType
}
