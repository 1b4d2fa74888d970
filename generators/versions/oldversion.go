package versions

import (
	"cmp"
	"fmt"
	"go/constant"
	"go/token"
	"go/types"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/petrock/petrock/generators"
	"github.com/petrock/petrock/generators/contract"
	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/gen"
)

// An oldVersion writes the file of the old version of one command: its types, made from the
// recorded fields, and the methods that convert them to the types of the source.
type oldVersion struct {
	*gen.Version
	u    *upgrade
	c    converter
	file gen.GoFile
	path string // of the file

	structs map[string]*oldStruct       // by recorded name; the command itself is ""
	byType  map[*types.Named]*oldStruct // the same, and embedded structs
	enums   map[string]*oldEnum         // by recorded name
	names   map[string]bool             // of the types

	reached []*oldStruct // structs with a target, in the order of discovery
	written int          // number of them that are in the file
	isDry   bool         // whether conversions only determine types, because a body replaces them
	hasBody bool         // whether the file has the statements that the user wrote
}

// An oldStruct is a struct type of an old version: CreateV1, or CreateV1Item for its struct type
// Item.
type oldStruct struct {
	*types.Named
	recorded string                // its name in the recorded fields; empty for the command
	fields   []contract.Field      // as recorded
	owned    map[string]bool       // its fields, and those that other structs embed, as RECORDED.NAME
	target   types.Type            // the type of the source that it is converted to; nil if there is none
	embedded map[string]*oldStruct // its embedded structs, by the names of those of target
	isInner  bool                  // whether it is not the command

	isPointer   bool // whether it is an embedded pointer, so that all fields are optional
	isChanged   bool // whether fields were added, removed or renamed
	isUndecided bool // whether fields have no known conversion

	code string // the statements that convert the struct, with … for undecided fields
}

// method returns the name of the method that converts the struct.
func (o *oldStruct) method() string {
	if o.isInner {
		return "upgrade"
	}
	return "Upgrade"
}

// An oldEnum is an enum of an old version: CreateV1Status, with the constants CreateV1StatusOpen
// and so on.
type oldEnum struct {
	*types.Named
	source string // name of its type
	values []contract.Constant
}

// constant returns the name of a constant: CreateV1StatusOpen for StatusOpen.
func (e *oldEnum) constant(c contract.Constant) string {
	return e.Obj().Name() + gen.Capitalize(strings.TrimPrefix(c.Go, e.source))
}

// newOldVersion returns the types of an old version. Structs get their fields when the type of the
// source that they are converted to is known.
func (u *upgrade) newOldVersion(v *gen.Version) *oldVersion {
	where := path.Join(v.Dir, strings.ToLower(v.OldType(""))+".go")
	if name, err := gen.ParseName(gen.WireName(v.OldType(""))); err == nil {
		where = path.Join(v.Dir, name.File("command"))
	}
	w := &oldVersion{
		Version: v, u: u, path: where, file: generators.NewFile(u.p, v.Dir),
		structs: map[string]*oldStruct{}, byType: map[*types.Named]*oldStruct{}, enums: map[string]*oldEnum{}, names: map[string]bool{},
	}
	w.c = converter{p: u.p, dir: v.Dir, file: w.file, function: w.function, pair: w.pair}
	v.OldNames, v.OldFields = map[string]string{}, map[token.Pos]string{}
	w.structs[""] = w.newStruct("", v.OldType(""), v.Old.Fields)
	w.structs[""].isInner = false
	w.structs[v.Type] = w.structs[""] // if the command contains itself
	for _, name := range slices.Sorted(maps.Keys(v.Old.Types)) {
		if w.structs[name] == nil {
			w.structs[name] = w.newStruct(name, v.OldType(name), v.Old.Types[name])
			v.OldNames[name] = v.OldType(name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(v.Old.Enums)) {
		source, short := name, name
		if dir, typ := path.Split(name); dir != "" { // ./folder.Type
			pkg, name, _ := strings.Cut(typ, ".")
			source, short = name, gen.Capitalize(pkg)+name
		}
		w.enums[name] = &oldEnum{w.newNamed(v.OldType(short), types.Typ[types.String]), source, v.Old.Enums[name]}
		v.OldNames[short] = v.OldType(short)
	}
	return w
}

func (w *oldVersion) command() *oldStruct { return w.structs[""] }

func (w *oldVersion) newStruct(recorded, name string, fields []contract.Field) *oldStruct {
	o := &oldStruct{Named: w.newNamed(name, &types.Struct{}), recorded: recorded, fields: fields, isInner: true, owned: map[string]bool{}, embedded: map[string]*oldStruct{}}
	for _, f := range fields {
		o.owned[recorded+"."+f.Name] = true
	}
	w.byType[o.Named] = o
	return o
}

func (w *oldVersion) newNamed(name string, underlying types.Type) *types.Named {
	for w.names[name] {
		name += "2"
	}
	w.names[name] = true
	return types.NewNamed(types.NewTypeName(token.NoPos, w.Named.Obj().Pkg(), name, nil), underlying, nil)
}

// write writes the file: the structs that are converted with their methods, then the others, then
// the enums.
func (w *oldVersion) write() {
	w.pair(w.command().Named, w.Named)
	w.function(w.command().Named, w.Named)
	w.writeReached(true)

	// The body replaces some conversions. These only determine the types that they reach, which get
	// methods if the body calls them.
	w.isDry = true
	for _, o := range slices.Clone(w.reached) {
		if w.u.isConverted(o) {
			w.c.file = generators.NewFile(w.u.p, w.Dir) // without imports in the file
			w.convertFields(o)
		}
	}
	w.writeReached(w.hasBody && strings.Contains(w.u.body.text, ".upgrade"))
	for _, name := range slices.Sorted(maps.Keys(w.structs)) {
		o := w.structs[name]
		if source := w.source(name); source != nil && o.target == nil { // previous versions convert to it
			w.pair(o.Named, source)
			w.function(o.Named, source)
			w.writeReached(false)
		} else if o.target == nil {
			w.declare(o)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(w.enums)) {
		w.declareEnum(w.enums[name])
	}
}

// writeReached writes the structs that were reached since the last call and, if hasMethods is set,
// their methods.
func (w *oldVersion) writeReached(hasMethods bool) {
	for ; w.written < len(w.reached); w.written++ { // converting one may reach others
		o := w.reached[w.written]
		w.declare(o)
		w.c.file = w.file
		if w.u.isConverted(o) {
			w.hasBody = true
			w.writeMethod(o, w.bodyFor(o))
			continue
		}
		if !hasMethods {
			w.c.file = generators.NewFile(w.u.p, w.Dir)
		}
		if o.code = w.convertFields(o); hasMethods && !(w.isDry && o.isUndecided) {
			w.writeMethod(o, o.code)
		}
	}
}

// source returns the struct type of the source that has a recorded name, or nil.
func (w *oldVersion) source(recorded string) *types.Named {
	own := w.Named.Obj().Pkg()
	for _, pkg := range slices.Concat(own.Imports(), []*types.Package{own}) {
		name, ok := strings.CutPrefix(recorded, gen.Capitalize(pkg.Name()))
		if pkg == own {
			name, ok = recorded, true
		}
		if object, isType := pkg.Scope().Lookup(name).(*types.TypeName); ok && isType && isStruct(object.Type()) && !isOpaque(object.Type()) {
			named, _ := object.Type().(*types.Named)
			return named
		}
	}
	return nil
}

// function returns the method that converts a struct, and adds the struct to those that write
// writes. It returns false if the struct is already converted to another type.
func (w *oldVersion) function(from *types.Named, to types.Type) (name string, ok bool) {
	o := w.byType[from]
	if o.target == nil {
		o.target = to
		w.reached = append(w.reached, o)
	}
	return o.Obj().Name() + "." + o.method(), isSame(o.target, to)
}

// pair records that older versions use a type of this version instead of a type of the source. If
// several types correspond to it, they use the first.
func (w *oldVersion) pair(from types.Type, to *types.Named) {
	if _, known := w.OldNames[types.TypeString(to, nil)]; known {
		return
	}
	w.OldNames[types.TypeString(to, nil)] = w.c.typeText(from)
	for _, enum := range w.enums {
		for _, c := range derive.Constants(to) {
			at := slices.IndexFunc(enum.values, func(was contract.Constant) bool { return was.Value == constant.StringVal(c.Val()) })
			if enum.Named == from && at >= 0 {
				w.OldNames[to.Obj().Pkg().Path()+"."+c.Name()] = enum.constant(enum.values[at])
			}
		}
	}
}

// declare writes a struct with its recorded fields.
func (w *oldVersion) declare(o *oldStruct) {
	w.setFields(o)
	if o.isInner {
		w.file.Commentf("// %s is %s as of version %d of %s.", o.Obj().Name(), cmp.Or(sourceName(o.target), o.recorded), w.Number, w.Type)
	} else {
		w.file.Commentf("// %s is version %d of %s, as stored in events of type %s. Do not change it.", o.Obj().Name(), w.Number, w.Type, w.EventType)
	}
	notes := w.u.Notes[w.u.p.Import(w.Dir)+"."+o.recorded]
	if o.target != nil {
		notes = w.u.Notes[types.TypeString(o.target, nil)]
	}
	text := "type " + o.Obj().Name() + " struct {\n"
	structure := o.Underlying().(*types.Struct)
	for i := range structure.NumFields() {
		field, tag := structure.Field(i), structure.Tag(i)
		if field.Embedded() {
			text += w.file.TypeText(field.Type()) + "\n"
			continue
		}
		name, _, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
		if notes[name].Schema != "" {
			tag += fmt.Sprintf(" schema:%q", notes[name].Schema)
		}
		text += field.Name() + " " + w.file.TypeText(field.Type()) + " " + gen.RawString(tag)
		if comment := notes[name].Comment; comment != "" {
			text += " // " + strings.ReplaceAll(comment, "\n", " ")
		}
		text += "\n"
	}
	w.file.Text(text + "}")
}

// sourceName returns the name of a type of the source. It is empty for one without a name.
func sourceName(t types.Type) string {
	if named, ok := t.(*types.Named); ok {
		return named.Obj().Name()
	}
	return ""
}

func (w *oldVersion) declareEnum(e *oldEnum) {
	text := fmt.Sprintf("// %s is %s as of version %d of %s.\ntype %[1]s string\n\n// The values of %[1]s.\nconst (\n", e.Obj().Name(), e.source, w.Number, w.Type)
	for _, value := range e.values {
		text += fmt.Sprintf("%s %s = %q\n", e.constant(value), e.Obj().Name(), value.Value)
	}
	w.file.Text(text + ")")
}

// setFields sets the fields of a struct. Recorded fields of an embedded struct are in a struct of
// their own if the target still embeds it.
func (w *oldVersion) setFields(o *oldStruct) {
	var fields []*types.Var
	var tags []string
	for _, f := range o.fields {
		first, _, isPromoted := strings.Cut(f.Go, ".")
		if embedded := embeddedStruct(o.target, first); isPromoted && embedded != nil {
			if o.embedded[first] == nil {
				fields, tags = append(fields, w.embed(o, embedded)), append(tags, "")
			}
			continue
		}
		tag := f.Name
		if f.Optional {
			tag += ",omitzero"
		}
		if f.Quoted {
			tag += ",string"
		}
		t, err := f.ParseType()
		if err != nil {
			w.addUndecided(o, f.Name, false, "%v", err)
		}
		name := f.Go[strings.LastIndex(f.Go, ".")+1:]
		if slices.ContainsFunc(o.fields, func(other contract.Field) bool { return other.Go == name && other.Name != f.Name }) {
			name = strings.ReplaceAll(f.Go, ".", "") // it was shadowed
		}
		fields = append(fields, types.NewField(token.NoPos, w.Named.Obj().Pkg(), name, w.goType(t), false))
		tags = append(tags, fmt.Sprintf("json:%q", tag))
	}
	o.SetUnderlying(types.NewStruct(fields, tags))
}

// embeddedStruct returns the embedded field with a name, or nil if the type does not embed a struct
// of that name.
func embeddedStruct(t types.Type, name string) *types.Var {
	if t == nil {
		return nil
	}
	for f := range t.Underlying().(*types.Struct).Fields() {
		if f.Embedded() && f.Name() == name && isStruct(pointee(f.Type())) {
			return f
		}
	}
	return nil
}

// pointee returns the type that a type is or points to.
func pointee(t types.Type) types.Type {
	if pointer, ok := types.Unalias(t).(*types.Pointer); ok {
		return types.Unalias(pointer.Elem())
	}
	return types.Unalias(t)
}

// embed returns the field of an embedded struct, with those recorded fields that are promoted.
func (w *oldVersion) embed(o *oldStruct, field *types.Var) *types.Var {
	target, fields := pointee(field.Type()), contract.Shape{Fields: o.fields}.Promoted(field.Name()).Fields
	inner := w.copyOf(target, fields)
	if inner == nil {
		inner = w.newStruct(o.recorded, o.Obj().Name()+field.Name(), fields)
	}
	for _, f := range fields {
		inner.owned[o.recorded+"."+f.Name] = true
	}
	o.embedded[field.Name()] = inner
	w.function(inner.Named, target)
	if named, ok := target.(*types.Named); ok {
		w.pair(inner.Named, named)
	}
	w.OldFields[field.Pos()] = inner.Obj().Name()
	var t types.Type = inner.Named
	if isPointer(field.Type()) {
		t, inner.isPointer = types.NewPointer(t), true
	}
	return types.NewField(token.NoPos, w.Named.Obj().Pkg(), inner.Obj().Name(), t, true)
}

// copyOf returns the struct that is a copy of a type of the source and has the given fields, or
// nil.
func (w *oldVersion) copyOf(target types.Type, fields []contract.Field) *oldStruct {
	name := sourceName(target)
	if named, ok := target.(*types.Named); ok && named.Obj().Pkg() != w.Named.Obj().Pkg() {
		name = gen.Capitalize(named.Obj().Pkg().Name()) + name
	}
	for _, o := range append(slices.Clone(w.reached), w.structs[name]) {
		if o != nil && (o.target == nil || isSame(o.target, target)) && !slices.ContainsFunc(fields, func(f contract.Field) bool { return !slices.Contains(o.fields, f) }) {
			return o
		}
	}
	return nil
}

// goType returns a recorded type as a Go type of the old version.
func (w *oldVersion) goType(t contract.Type) types.Type {
	switch t.Kind {
	case contract.Struct:
		if o := w.structs[t.Name]; o != nil {
			return o.Named
		}
	case contract.Opaque:
		return w.opaque(t.Name)
	case contract.Bytes:
		return types.NewSlice(types.Universe.Lookup("byte").Type())
	case contract.Pointer:
		return types.NewPointer(w.goType(*t.Elem))
	case contract.Slice:
		return types.NewSlice(w.goType(*t.Elem))
	case contract.Array:
		return types.NewArray(w.goType(*t.Elem), int64(t.Len))
	case contract.Map:
		return types.NewMap(w.goType(*t.Key), w.goType(*t.Elem))
	case contract.Basic, contract.Any:
		if enum := w.enums[t.Enum]; enum != nil {
			return enum.Named
		}
		return types.Universe.Lookup(t.Name).Type()
	}
	return types.Typ[types.Invalid]
}

// opaque returns a type with its own decoding, which stays that of the source: time.Time, or
// ./features/posts.List[time.Time]. It has no underlying type.
func (w *oldVersion) opaque(text string) types.Type {
	name, arguments, isGeneric := strings.Cut(strings.TrimSuffix(text, "]"), "[")
	at := strings.LastIndex(name, ".")
	pkg := types.NewPackage(name[:at], path.Base(name[:at]))
	if dir, isInside := strings.CutPrefix(name[:at], "./"); isInside {
		pkg = types.NewPackage(w.u.p.Import(dir), w.u.p.Package(dir))
	}
	t := types.NewNamed(types.NewTypeName(token.NoPos, pkg, name[at+1:], nil), types.Typ[types.Invalid], nil)
	if !isGeneric {
		return t
	}
	var params []*types.TypeParam
	var given []types.Type
	for argument := range strings.SplitSeq(arguments, ",") {
		param := types.NewTypeName(token.NoPos, pkg, "T", nil)
		params = append(params, types.NewTypeParam(param, types.Universe.Lookup("any").Type()))
		parsed, _ := contract.ParseType(argument) // if it is invalid, the file does not compile
		given = append(given, w.goType(parsed))
	}
	t.SetTypeParams(params)
	instance, err := types.Instantiate(nil, t, given, false)
	if err != nil {
		return t
	}
	return instance
}
