package engine

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/petrock/petrock/core/plumbing/terminal"
	"github.com/petrock/petrock/core/strictjson"
)

// A Draft is a call of a tool, or of the command that does the same, whose arguments are kept if it
// fails. The next call has the id of the draft, and otherwise only the arguments that change.
type Draft struct {
	Tool      string                     `json:"tool"`
	Arguments map[string]json.RawMessage `json:"arguments"` // of the whole call

	engine *Engine
	id     string // empty if the call is new
	ended  bool
}

const (
	draftsDir   = ".petrock/drafts"
	maxDraftAge = 24 * time.Hour
	maxDrafts   = 20
)

func draftFile(id string) string { return path.Join(draftsDir, id+".json") }

// Draft begins a call with arguments. If id is not empty, it names a draft of the tool, into which
// they are merged: null removes an argument, lists are merged as mergeList does, and others are
// replaced. Unlike other methods, Draft and [Draft.End] may be called concurrently.
func (e *Engine) Draft(tool, id string, arguments map[string]json.RawMessage) (*Draft, error) {
	if id == "" {
		return &Draft{Tool: tool, Arguments: arguments, engine: e}, nil
	}
	e.prune(draftsDir, maxDraftAge, maxDrafts)
	d := &Draft{engine: e, id: id}
	text, err := e.root.ReadFile(draftFile(id))
	if err == nil {
		err = strictjson.Unmarshal(text, d)
	}
	switch {
	case err != nil || d.Arguments == nil:
		return nil, terminal.Usagef("draft %q does not exist: its call has succeeded since, it is older than a day, or there were %d newer ones; send the whole call without draft", id, maxDrafts)
	case d.Tool != tool:
		return nil, terminal.Usagef("draft %s is of %s, not of %s; pass it to %[2]s", id, d.Tool, tool)
	}
	for name, value := range arguments {
		d.Arguments[name] = e.mergeList(name, d.Arguments[name], value)
		if strictjson.First(value) == 'n' {
			delete(d.Arguments, name)
		}
	}
	return d, nil
}

// End ends the call with its result, which may be nil. If err is not nil, the arguments are kept
// for a day, and the error becomes a [Fault] with the id of the draft. A call without an error
// removes its draft, unless it was a dry run. If d is nil or the call was cancelled, End returns
// err.
func (d *Draft) End(result *Result, err error) error {
	if d == nil || errors.Is(err, context.Canceled) {
		return err
	}
	d.ended = true
	if err == nil {
		if d.id != "" && (result == nil || !result.DryRun) {
			d.engine.root.Remove(draftFile(d.id)) // if that fails, it expires
		}
		return nil
	}
	fault := *FaultOf(err)
	if fault.Draft != "" {
		d.engine.root.Remove(draftFile(fault.Draft)) // of a program that made the call
	}
	if fault.Draft = ""; d.save() == nil { // otherwise the call must be sent again whole
		fault.Draft = d.id
	}
	return &fault
}

// Ended reports whether End has ended the call.
func (d *Draft) Ended() bool { return d.ended }

func (d *Draft) save() error {
	saved := Draft{Tool: d.Tool, Arguments: maps.Clone(d.Arguments)}
	for _, name := range []string{"dir", "detail", "draft", "dry_run"} { // each call has its own
		delete(saved.Arguments, name)
	}
	text, err := strictjson.Marshal(saved)
	if err != nil {
		return err
	}
	d.id = cmp.Or(d.id, strings.ToLower(rand.Text()[:6]))
	return d.engine.keep(draftFile(d.id), text, maxDraftAge, maxDrafts)
}

// keep writes a plan or draft atomically, and prunes its folder. Only the owner may read the file.
func (e *Engine) keep(file string, text []byte, maxAge time.Duration, most int) error {
	dir := path.Dir(file)
	staged := path.Join(dir, rand.Text()) // if it stays, prune removes it
	e.prune(dir, maxAge, most-1)
	err := e.root.MkdirAll(dir, 0o755)
	if err == nil {
		err = e.root.WriteFile(staged, text, 0o600)
	}
	if err == nil {
		err = e.root.Rename(staged, file)
	}
	return err
}

// prune removes files of a folder that are older than maxAge, and the oldest that are more than
// keep.
func (e *Engine) prune(dir string, maxAge time.Duration, keep int) {
	var files []fs.FileInfo
	entries, _ := fs.ReadDir(e.root.FS(), dir) // fails without the folder
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil {
			files = append(files, info)
		}
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	for _, file := range files {
		isStaged := path.Ext(file.Name()) == "" // another process may be about to rename it
		if !isStaged {
			keep--
		}
		if keep < 0 && !isStaged || time.Since(file.ModTime()) > maxAge {
			e.root.Remove(path.Join(dir, file.Name())) // best effort
		}
	}
}

// mergeList returns the value of an argument with changes. Elements of edits with the same path or
// symbol, of examples with the same name, and of fields and output with the same field name replace
// those of the draft. Others are appended, as are replacements in a file whose text the draft has;
// an example that the draft has is not repeated. An edit or example that is only a path or a name
// removes those of the draft. Other values are replaced.
func (e *Engine) mergeList(name string, draft, given json.RawMessage) json.RawMessage {
	var old, changes []json.RawMessage
	isList := slices.Contains([]string{"edits", "examples", "fields", "output"}, name)
	if !isList || json.Unmarshal(draft, &old) != nil || json.Unmarshal(given, &changes) != nil {
		return given
	}
	merged, used := []json.RawMessage{}, make([]bool, len(changes))
	for i, element := range old {
		key, replaced := e.elementKey(name, element, fmt.Sprintf("example %d", i+1)), false
		for k, change := range changes {
			if key == "" || e.elementKey(name, change, "") != key || strictjson.Member(element, "text") != nil && strictjson.Member(change, "replace") != nil {
				continue
			}
			if !used[k] && !isOnlyKey(change) {
				merged = append(merged, change)
			}
			used[k], replaced = true, true
		}
		if !replaced {
			merged = append(merged, element)
		}
	}
	for k, change := range changes {
		isRepeated := name == "examples" && slices.ContainsFunc(old, func(o json.RawMessage) bool { return bytes.Equal(o, change) })
		if !used[k] && !isRepeated {
			merged = append(merged, change)
		}
	}
	text, _ := strictjson.Marshal(merged) // they are valid JSON
	return text
}

// elementKey returns what identifies an element of a list, or "". An example of a draft without a
// name has that of results.
func (e *Engine) elementKey(list string, element json.RawMessage, unnamed string) string {
	if field, ok := strictjson.Unquote(element); ok {
		return field[:strings.IndexAny(field+":", ": ?\"")]
	}
	var in struct{ Path, Name, Symbol string }
	json.Unmarshal(element, &in) // an element that is not an object has no key
	switch {
	case list == "examples" && in.Name == "":
		return unnamed
	case in.Path != "":
		return e.pathInProject(in.Path)
	}
	return cmp.Or(in.Name, in.Symbol)
}

func isOnlyKey(element json.RawMessage) bool {
	var members map[string]json.RawMessage
	return json.Unmarshal(element, &members) == nil && len(members) == 1
}
