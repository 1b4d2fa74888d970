package typecheck

import (
	"go/types"
	"slices"
	"strings"
)

// What to do instead.
const (
	useEntry   = "use e.Time and e.ID, which the entry keeps"
	useWorker  = "let a worker do it, which follows the log"
	useSorted  = "go through the keys in order: slices.Sorted(maps.Keys(m))"
	useState   = "keep it in the state"
	useCommand = "let a worker do it, or the caller send it as a field of the command"
)

// An impureRule names functions and variables of other modules that are not deterministic.
type impureRule struct {
	path   string   // of a package; with "/..." also packages below it
	names  []string // functions, methods as Type.Method, and variables; nil means all
	wayOut string
}

// impureRules returns the rules. The first that matches counts; one without a remedy allows.
func impureRules() []impureRule {
	return []impureRule{
		{"time", []string{"Now", "Since", "Until"}, useEntry},
		{"time", []string{"After", "AfterFunc", "NewTicker", "NewTimer", "Sleep", "Tick"}, useWorker},
		{"time", []string{"Local", "LoadLocation", "Time.Local"}, "use UTC: machines have zones of their own"},
		{"math/rand/...", nil, useEntry + ", or let the caller send it as a field of the command"},
		{"crypto/rand", nil, useEntry + ", or let the caller send it as a field of the command"},
		{"github.com/google/uuid", []string{"New", "NewRandom", "NewString", "NewUUID", "NewV6", "NewV7"}, useEntry}, // SQLite brings it along
		{"hash/maphash", nil, "use a hash that is the same everywhere, such as hash/fnv"},
		{"os/...", nil, useCommand},
		{"io/fs", nil, useCommand},
		{"io/ioutil", nil, useCommand},
		{"path/filepath", []string{"Abs", "EvalSymlinks", "Glob", "Walk", "WalkDir"}, useCommand},
		{"net/url", nil, ""},
		{"net/netip", nil, ""},
		{"net/mail", nil, ""},
		{"net/textproto", nil, ""},
		{"net/...", nil, useCommand},
		{"database/sql/...", nil, useState},
		{"log/...", nil, useWorker},
		{"syscall/...", nil, useCommand},
		{"runtime/...", nil, useCommand},
		{"plugin", nil, useCommand},
		{"fmt", []string{"Print", "Printf", "Println", "Scan", "Scanf", "Scanln"}, useWorker},
	}
}

// impureReason returns the remedy for an impure object of another package, empty if it is pure, as
// types and constants are.
func (f *finder) impureReason(object types.Object) string {
	switch object.(type) {
	case *types.Func, *types.Var:
	default:
		return ""
	}
	if field, ok := object.(*types.Var); ok && field.IsField() {
		return ""
	}
	where := object.Pkg().Path()
	if f.isCore(where) {
		if function, ok := object.(*types.Func); ok && where == f.Core+"/app" && function.Signature().Recv() == nil && !strings.HasPrefix(function.Name(), "Upgrade") {
			return useWorker // it executes and asks
		}
		return ""
	}
	name := object.Name()
	if method, ok := object.(*types.Func); ok && method.Signature().Recv() != nil {
		name = receiverType(method) + "." + name
	}
	for _, o := range impureRules() {
		base, below := strings.CutSuffix(o.path, "/...")
		if where == base || below && strings.HasPrefix(where, base+"/") {
			if o.names == nil || slices.Contains(o.names, name) {
				return o.wayOut
			}
		}
	}
	return ""
}
