package gen

import (
	"go/token"
	"go/types"
	"strconv"
	"strings"

	"github.com/petrock/petrock/generators/contract"
)

// A Migration is a new version of a command, and of every other command whose stored events would
// not be readable because of the same types.
type Migration struct {
	Versions []*Version // the requested command first

	// Notes are the notes of fields before the change, by struct type and JSON name, for structs
	// that stay the input of a tool.
	Notes    map[string]map[string]FieldNote
	Warnings []string // about files that may use renamed fields, but are not built on this system

	// Changes returns the edited files: renamed and dropped fields with all references, the
	// versions in the doc comments of the commands, and the code of previous versions. Set OldNames
	// and OldFields of all versions before.
	Changes func() ([]File, error)
}

// A Version is a new version of one command.
type Version struct {
	EventType string       // type of its events, such as posts/create
	Dir       string       // folder of the feature
	Type      string       // Go type of the command, such as Create
	Named     *types.Named // the type itself, with the new fields
	Number    int          // the version that the contract records
	Writes    bool         // whether new events keep this version, with //petrock:writes
	Old, New  contract.Shape
	Defaults  map[string]string // the defaults in the tags of its fields as JSON, by JSON name

	// The code of previous versions converts to types of the source, and must now convert to this
	// version. The generator sets the replacements. OldNames has the Go source that replaces types
	// and constants, by name with the import path, and types by their names in recorded fields.
	// OldFields has the Go names that replace fields, by the positions of their declarations.
	OldNames  map[string]string
	OldFields map[token.Pos]string
}

// OldType returns the type name for the recorded version: CreateV1, or CreateV1Item for its type
// Item.
func (v *Version) OldType(name string) string {
	base := v.Type + "V" + strconv.Itoa(v.Number)
	if name == v.Type { // the command contains itself
		return base
	}
	if short := strings.TrimPrefix(name, v.Type); short != name {
		if _, taken := v.Old.Types[short]; !taken {
			return base + short
		}
	}
	return base + name
}

// A FieldNote is the part of a field that schemas have, but not events.
type FieldNote struct {
	Schema  string // tag
	Comment string
}

// An OldVersion is an old version of a command in the source, such as CreateV1.
type OldVersion struct {
	EventType string       // type of its events, such as posts/create
	Type      *types.Named // such as CreateV1
	Next      *types.Named // the type that it is upgraded to, such as Create
	File      File         // which declares it
}

// An Edit renames and drops fields of a command. Fields have JSON names, joined by dots for nested
// structs. Edits that the source already contains are skipped.
type Edit struct {
	Rename map[string]string // old name to new name
	Drop   []string

	// ReadFirst makes a new version for every change that older builds cannot read. New events keep
	// the recorded version.
	ReadFirst bool
}
