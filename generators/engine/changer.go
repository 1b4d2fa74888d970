package engine

import (
	"context"
	"fmt"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/imports"
)

// A Change describes what to change of a component. Empty fields change nothing.
type Change struct {
	Name         string   `json:"name,omitempty"`                         // Such as send_mail or posts/create
	Kind         string   `json:"kind,omitempty"`                         // If ambiguous
	Rename       string   `json:"rename,omitempty"`                       // New name
	Alias        bool     `json:"alias,omitempty"`                        // Keep the old name too, deprecated
	Description  string   `json:"description,omitempty"`                  // New text
	Fields       []string `json:"fields,omitempty"`                       // To add or replace, as for a tool; NAME "TEXT" keeps the type
	Output       []string `json:"output,omitempty"`                       // The same for the output
	RenameFields []string `json:"rename_fields,omitempty"`                // OLD=NEW, or output.OLD=NEW
	RemoveFields []string `json:"remove_fields,omitempty"`                // NAME, or output.NAME
	Default      []string `json:"default,omitempty"`                      // FIELD=VALUE of new required fields in stored events
	Upgrade      string   `json:"upgrade,omitempty" schema:"format=go"`   // Body that converts a stored event, old
	ReadFirst    bool     `json:"read_first,omitempty"`                   // Read the new version, write the old one
	Downgrade    string   `json:"downgrade,omitempty" schema:"format=go"` // With read_first: body that converts c back
	Check        string   `json:"check,omitempty" schema:"format=go"`     // Body of Check
	Body         string   `json:"body,omitempty" schema:"format=go"`      // Body of the function, Apply or Answer

	Values []string `json:"values,omitempty"`
	gen.Directives

	Examples []gen.Step `json:"examples,omitempty"` // For the test; one with the name of another replaces it

	Edits []FileEdit `json:"edits,omitempty"` // Of other code, as for edit, after the change
}

// A changer plans the change of one component.
type changer struct {
	*rewrite
	plan *plan
	in   Change
	c    derive.Component
	pkg  *types.Package

	others []derive.Component // of its package

	object        types.Object // the function or type
	method        types.Object // the function itself, or the method that does the work; nil if there are several
	input, output *types.Named // structs with the fields; nil if there are none
	inputEdit     *fieldEdit
	outputEdit    *fieldEdit
	tools         map[string]toolType    // by name, if fields change
	typed         map[token.Pos]toolType // tools whose input type no other has, by its position

	oldGo, newGo string                      // of the function or type; equal without rename
	newWire      string                      // the new name that clients see
	newNames     map[string]string           // of renamed declarations except fields, by their old names
	moves        map[string]string           // new paths of files
	appends      map[string]string           // declarations to append, by file
	imports      map[string][]imports.Import // packages of new types, by file
}

// A toolType is the types of a tool's input and output.
type toolType struct{ input, output types.Type }

// A fieldEdit is the change to the fields of one struct.
type fieldEdit struct {
	t       *types.Named
	code    gen.StructCode
	set     []setField
	renames []string          // OLD=NEW
	rename  map[string]string // new JSON paths by old ones
	remove  []string          // JSON paths

	added     []string                 // new fields, as TYPE.FIELD in Go
	required  []typedField             // fields that are required now, and were not
	removed   map[token.Pos]bool       // removed fields, by the position of their declaration
	retyped   map[token.Pos]typedField // fields with another type, not only a pointer to it
	wrapped   map[token.Pos]string     // fields that become pointers, with the type that they point to
	unwrapped map[token.Pos]bool       // fields that are no longer pointers
}

// A setField is a field to add or replace. in is the JSON path of its struct with a dot at the end,
// or "".
type setField struct {
	gen.Field
	in string
}

// A typedField is a field of a struct with its Go type in the package that declares it.
type typedField struct {
	gen.Field
	in  *types.Named
	typ string
}

func (edit *fieldEdit) isEmpty() bool { return len(edit.set)+len(edit.rename)+len(edit.remove) == 0 }

// fieldEdits returns the changes to the fields of the input and the output. Those of a type are
// both.
func (ch *changer) fieldEdits() []*fieldEdit {
	return slices.Compact(slices.DeleteFunc([]*fieldEdit{ch.inputEdit, ch.outputEdit}, (*fieldEdit).isEmpty))
}

func (e *Engine) newChanger(ctx context.Context, p *plan, in Change) (*changer, error) {
	c, home, err := e.onDisk().lookUp(ctx, derive.Kind(in.Kind), in.Name)
	if err != nil {
		return nil, err
	}
	if len(home.Problems) > 0 {
		return nil, deriveRefusal(home, e.before)
	}
	p.kind, p.name = string(c.Kind), c.Name
	r, err := e.onDisk().newRewrite(ctx, home.Dir)
	if err != nil {
		return nil, err
	}
	ch := &changer{
		rewrite: r, plan: p, in: in, c: c,
		newWire: c.Name, newNames: map[string]string{}, moves: map[string]string{}, appends: map[string]string{}, imports: map[string][]imports.Import{},
	}
	ch.pkg, _ = ch.pass.Package(home.Dir)
	ch.others = slices.DeleteFunc(slices.Clone(home.Components), func(other derive.Component) bool {
		return other.Kind == c.Kind && other.Name == c.Name || isUnlisted(other)
	})
	if ch.object, ch.method = declared(ch.pkg, c); ch.object == nil {
		return nil, fmt.Errorf("%s does not declare %s", home.Dir, c.Func)
	}
	ch.oldGo, ch.newGo = ch.object.Name(), ch.object.Name()
	t := typesOf(ch.pkg, c, ch.method)
	ch.input, ch.output = ch.structOf(t.input), ch.structOf(t.output)
	if err := ch.extend(ctx, e.checker, ch.input, ch.output); err != nil {
		return nil, err
	}
	if len(in.Fields)+len(in.Output)+len(in.RenameFields)+len(in.RemoveFields) == 0 {
		return ch, nil
	}
	return ch, ch.readTools(ctx)
}

// declared returns the function or type of a component, or nil, and the function itself or the
// method that does the work; nil if there are several.
func declared(pkg *types.Package, c derive.Component) (object, method types.Object) {
	receiver, name, isMethod := strings.Cut(c.Func, ".")
	object = pkg.Scope().Lookup(receiver)
	if isMethod && object != nil {
		object, _, _ = types.LookupFieldOrMethod(object.Type(), true, pkg, name)
	}
	if object == nil {
		return nil, nil
	}
	if name := c.Method(); name != "" {
		method, _, _ = types.LookupFieldOrMethod(object.Type(), true, pkg, name)
	} else if c.Kind != derive.Worker && c.Kind != derive.Feature {
		method = object
	}
	return object, method
}

// typesOf returns the types of a component: the input is the type itself, or the last parameter of
// the function.
func typesOf(pkg *types.Package, c derive.Component, method types.Object) (t toolType) {
	if object, ok := pkg.Scope().Lookup(c.Func).(*types.TypeName); ok {
		t.input = object.Type()
	}
	function, ok := method.(*types.Func)
	if !ok || c.Kind == derive.Worker || c.Kind == derive.Feature {
		return t
	}
	signature := function.Signature()
	if n := signature.Params().Len(); t.input == nil && n > 0 {
		t.input = signature.Params().At(n - 1).Type()
	}
	if signature.Results().Len() > 0 {
		t.output = signature.Results().At(0).Type()
	}
	return t
}

// namedPos returns the position of the declaration of a type that is named or points to a named
// one.
func namedPos(t types.Type) token.Pos {
	if t == nil {
		return token.NoPos
	}
	if named, ok := types.Unalias(valueType(t)).(*types.Named); ok {
		return named.Obj().Pos()
	}
	return token.NoPos
}

// startsWithWord reports whether an identifier starts with the words of another.
func startsWithWord(name, start string) bool {
	rest, ok := strings.CutPrefix(name, start)
	next, _ := utf8.DecodeRuneInString(rest)
	return ok && (rest == "" || !unicode.IsLower(next))
}

// readTools sets the types of the tools and prompts in packages that may use the edited types.
func (ch *changer) readTools(ctx context.Context) error {
	ch.tools, ch.typed = map[string]toolType{}, map[token.Pos]toolType{}
	packages, err := ch.engine.deriver.Packages(ctx, ch.view, ch.existingPlaces())
	if err != nil {
		return err
	}
	for _, home := range packages {
		for _, c := range home.Components {
			if !c.Kind.IsTool() && c.Kind != derive.Prompt || !slices.Contains(ch.dirs, home.Dir) {
				continue
			}
			pkg, _ := ch.pass.Package(home.Dir)
			_, method := declared(pkg, c)
			tool := typesOf(pkg, c, method)
			pos := namedPos(tool.input)
			if c.WritesOlder() || ch.in.ReadFirst && c.Name == ch.c.Name {
				tool.input = nil // JSON is of the older version
			}
			for _, name := range append([]string{c.Name}, c.Aliases...) {
				if _, isTaken := ch.tools[name]; !isTaken || c.Kind == ch.c.Kind {
					ch.tools[name] = tool
				}
			}
			if _, isShared := ch.typed[pos]; isShared || !pos.IsValid() {
				tool = toolType{}
			}
			ch.typed[pos] = tool
		}
	}
	return nil
}
