package gen

import (
	"go/types"
	"strconv"
	"strings"

	"github.com/petrock/petrock/generators/contract"
)

// A Migration is a new version of a command.
type Migration struct {
	Entry    string // its name in the event log, such as posts/create
	Dir      string // folder of the feature
	Type     string // its Go type, such as Create
	File     string // file that declares the type
	Version  int    // the version that the contract records
	Old, New contract.Shape
	Struct   *types.Struct     // the fields that the type has now
	Defaults map[string]string // by JSON name, the defaults in its tags, as JSON
	Declared []string          // all names that the package declares

	// Changes are the files that are edited for the new version: renamed and dropped fields with all
	// references, the version in the type's doc comment, and the upgrade of the version before.
	Changes []File
	Unbuilt []string // files that may use renamed fields, but are not built on this system
}

// An Edit renames and drops fields of a command. Fields have JSON names, joined by dots for nested
// structs. Edits that the source already has are skipped.
type Edit struct {
	Rename map[string]string // old name to new name
	Drop   []string
}

// OldType returns the Go type with the fields of the recorded version, such as CreateV1, or of a
// struct type that it uses.
func (m *Migration) OldType(structure string) string {
	base := m.Type + "V" + strconv.Itoa(m.Version)
	if structure == m.Type { // the command contains itself
		return base
	}
	if short := strings.TrimPrefix(structure, m.Type); short != structure {
		if _, taken := m.Old.Types[short]; !taken {
			return base + short
		}
	}
	return base + structure
}
