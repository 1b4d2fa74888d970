package gen

import (
	"go/types"
	"strconv"
	"strings"

	"github.com/petrock/petrock/generators/contract"
)

// A Migration is a command of a feature on its way to a new version.
type Migration struct {
	Entry    string // its name in the event log, such as posts/create
	Dir      string // folder of the feature
	Type     string // its Go type, such as Create
	File     string // where that is declared
	Version  int    // the version that the contract records
	Old, New contract.Shape
	Struct   *types.Struct     // the fields that the type has now
	Defaults map[string]string // by JSON name, the defaults in its tags, as JSON
	Declared []string          // all names that the package declares

	// Changes are files that are edited for the new version: renamed and dropped fields with all references, the version in
	// the type's doc comment, and the upgrade of the version before, which now leads to the recorded one.
	Changes []File
	Unbuilt []string // files that may use renamed fields, and that this system does not build
}

// An Edit is what is to become of the fields of a command. Fields are named by their JSON names, joined by dots for those of structs
// inside of it. What the Go already has is not edited again.
type Edit struct {
	Rename map[string]string // old name to new name
	Drop   []string
}

// OldType is the Go type that keeps the fields of the recorded version, such as CreateV1, or those of a struct type that they use.
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
