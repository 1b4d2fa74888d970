package generators

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/petrock/petrock/generators/gen"
)

// A crud is a feature in the making that keeps items.
type crud struct {
	p       gen.Project
	feature string
	all     string // the field of the state that holds the items
	one     string // an item in plain words: post
	typ     string // its type
	item    string // variables that hold one
	fields  []gen.Field
}

func crudFeature(p gen.Project, draft gen.Draft, in FeatureInput, fields []gen.Field) (gen.Draft, error) {
	if len(fields) == 0 {
		return gen.Draft{}, errors.New("crud needs the fields of an item: title:string, for instance")
	}
	c, err := newCRUD(p, in, fields)
	if err != nil {
		return gen.Draft{}, err
	}
	tests, err := c.tests()
	if err != nil {
		return gen.Draft{}, err
	}
	draft.Files, err = rendered(featureDir(c.feature), append([]source{
		{"state.go", c.state()},
		{"create.go", c.create()},
		{"update.go", c.update()},
		{"delete.go", c.remove()},
		{"get.go", c.get()},
		{"list.go", c.list()},
	}, tests...)...)
	if err != nil {
		return gen.Draft{}, err
	}
	draft.Next = []string{
		fmt.Sprintf("Call %[1]s_create, %[1]s_list, %[1]s_get, %[1]s_update and %[1]s_delete; %[2]s is in %[3]s.", c.feature, c.typ, featureDir(c.feature)+"/state.go"),
		"go test ./" + featureDir(c.feature),
	}
	return draft, nil
}

func newCRUD(p gen.Project, in FeatureInput, fields []gen.Field) (crud, error) {
	c := crud{p: p, feature: in.Name, fields: fields, all: "Items"}
	if err := gen.CheckWireName(in.Name+"_create", p.Name); err != nil {
		return c, err
	}
	if name, err := gen.ParseName(in.Name); err == nil && name.Go() != "Order" {
		c.all = name.Go()
	}
	text := in.Item
	if text == "" {
		text = "item"
		if one, ok := singular(in.Name); ok && !c.takes(goName(one)) {
			text = one
		}
	}
	name, err := gen.ParseName(text)
	if err != nil {
		return c, err
	}
	c.one, c.typ = name.Human(), name.Go()
	if c.takes(c.typ) {
		return c, fmt.Errorf("an item called %q would be a type %s, which is the name of something else in a feature; give it another", in.Item, c.typ)
	}
	c.item = variable(c.typ)
	for _, f := range fields {
		if err := c.free(f); err != nil {
			return c, err
		}
	}
	n := named{kind: "feature", feature: c.feature, goName: "State"}
	return c, n.apart(c.structure(fields), structure{name: "Create"}, structure{name: "Update"}, structure{name: "Delete"}, structure{name: "Get"},
		structure{name: "List"}, structure{name: "ListOutput"}, structure{name: "NewState"}, structure{name: "Feature"}, structure{name: "Map"})
}

func goName(word string) string {
	name, err := gen.ParseName(word)
	if err != nil {
		return ""
	}
	return name.Go()
}

// takes reports whether the feature declares a name otherwise than for its items.
func (c crud) takes(name string) bool {
	return slices.Contains([]string{"", "Create", "Update", "Delete", "Get", "List", "ListOutput"}, name) || isReserved(name)
}

// variable is what something of a type is called in a function: post. Where that means something else there, it is item.
func variable(typ string) string {
	name := strings.ToLower(typ[:1]) + typ[1:]
	taken := []string{"app", "cmp", "slices", "sort", "fmt", "context", "time", "ctx", "ids", "out", "page", "rest", "err"}
	if len(name) == 1 || slices.Contains(taken, name) || isGo(name) || strings.ToUpper(typ[:2]) == typ[:2] {
		return "item"
	}
	return name
}

// free refuses fields whose names something else has that every item has.
func (c crud) free(f gen.Field) error {
	for _, other := range []struct{ name, is string }{
		{"id", "an id"}, {"seq", "a number that says where it stands in the order of all"}, {"created_at", "the time at which it was created"}, {"updated_at", "the time at which it was changed last"},
	} {
		if strings.EqualFold(strings.ReplaceAll(f.Name, "_", ""), strings.ReplaceAll(other.name, "_", "")) {
			return fmt.Errorf("field %q: each item has %s by itself, as %s; leave the field out, or give it another name", f.Name, other.is, other.name)
		}
	}
	return named{kind: "command"}.apartFrom([]gen.Field{f}, "Check", "Apply")
}

func (c crud) structure(fields []gen.Field) structure {
	return structure{name: c.typ, prefix: c.typ, fields: fields, logged: true}
}

// text adds Go source to a file. In it $type is the type of items, $all the field of the state that
// holds them, $item a variable, $one an item in plain words, $feature the feature, and ' a
// backquote.
func (c crud) text(file gen.GoFile, source string, imports ...string) {
	file.Text(strings.NewReplacer("$type", c.typ, "$all", c.all, "$key", strings.ToLower(c.all), "$item", c.item, "$one", c.one,
		"$feature", c.feature, "'", "`").Replace(source), imports...)
}

// state is what is kept.
func (c crud) state() gen.GoFile {
	file := c.file()
	c.text(file, `// State is what the log says of $feature. Commands change it, and nothing else does.
type State struct {
	$all map[string]*$type 'json:"$key"' // By id
	Order []string 'json:"order"' // Their ids, in the order in which they were created
}`)
	file.Comment(fmt.Sprintf("// %s %s is one of the %s.", gen.Capitalize(article(c.one)), c.typ, c.feature))
	bare := c.structure(nil)
	file.Type().Id(c.typ).StructFunc(func(g *jen.Group) {
		g.Id("ID").String().Op("`json:\"id\"`")
		g.Id("Seq").Int64().Op("`json:\"seq\"`").Comment("// Place in the order of creation")
		for _, f := range c.fields {
			f.Min, f.Max = "", "" // they are checked where it is made and changed
			g.Id(f.Go).Add(bare.typeCode(f)).Op("`" + bare.tags(f) + "`").Do(func(s *jen.Statement) {
				if f.Description != "" {
					s.Comment("// " + f.Description)
				}
			})
		}
		g.Id("CreatedAt").Qual("time", "Time").Op("`json:\"created_at\"`")
		g.Id("UpdatedAt").Qual("time", "Time").Op("`json:\"updated_at\"`")
	})
	c.structure(c.fields).enumerations(file)
	c.text(file, `// NewState is the state before the first command.
func NewState() *State {
	return &State{$all: map[string]*$type{}}
}

// known refuses an id that no $one has.
func (s *State) known(id string) error {
	if s.$all[id] == nil {
		return fmt.Errorf("there is no $one %q; $feature_list has those that there are", id)
	}
	return nil
}

// after is the place in Order behind those whose number is at most seq.
func (s *State) after(seq int64) int {
	return sort.Search(len(s.Order), func(i int) bool {
		return s.$all[s.Order[i]].Seq > seq
	})
}`, "fmt", "sort")
	return file
}

func (c crud) file() gen.GoFile {
	file := gen.NewGoFile(c.p.Import(featureDir(c.feature)), c.feature)
	file.ImportName(c.p.Import("core/app"), "app")
	return file
}

func (c crud) idField() gen.Field {
	return gen.Field{Name: "id", Go: "ID", Type: gen.FieldType{Kind: gen.KindString}, Description: "Id of the " + c.one}
}

// command writes the type of a command, or of a query. The types of enumerations are those of the items.
func (c crud) command(file gen.GoFile, name, about string, directives []string, fields ...gen.Field) {
	structure{name: name, prefix: c.typ, about: about, directives: directives, logged: true, fields: fields}.declare(file)
}

func (c crud) create() gen.GoFile {
	file := c.file()
	c.command(file, "Create", fmt.Sprintf("adds %s %s.", article(c.one), c.one), []string{"hints additive"}, c.fields...)
	set := ""
	for _, f := range c.fields {
		set += fmt.Sprintf("%s: c.%[1]s,\n", f.Go)
	}
	c.text(file, `// Check refuses nothing: what the fields may hold is checked by their tags.
func (c Create) Check(ctx context.Context, s *State) error {
	return nil
}

// Apply adds the $one.
func (c Create) Apply(s *State, e app.Event) $type {
	$item := &$type{
		ID: e.ID,
		Seq: e.Seq,
		`+set+`CreatedAt: e.Time,
		UpdatedAt: e.Time,
	}
	s.$all[$item.ID] = $item
	s.Order = append(s.Order, $item.ID)
	return *$item
}`, "context", c.p.Import("core/app"))
	return file
}

func (c crud) updateFields() []gen.Field {
	fields := []gen.Field{c.idField()}
	for _, f := range c.fields {
		f.Optional = true
		fields = append(fields, f)
	}
	return fields
}

func (c crud) update() gen.GoFile {
	file := c.file()
	c.command(file, "Update", fmt.Sprintf("changes %s %s: the fields that are given, and no others.", article(c.one), c.one), []string{"hints idempotent"}, c.updateFields()...)
	set := ""
	for _, f := range c.fields {
		star := "*"
		if f.Optional || mayBeNil(f.Type) {
			star = ""
		}
		set += fmt.Sprintf("if c.%s != nil {\n$item.%[1]s = %sc.%[1]s\n}\n", f.Go, star)
	}
	c.text(file, `// Check refuses an id that is not known.
func (c Update) Check(ctx context.Context, s *State) error {
	return s.known(c.ID)
}

// Apply changes the $one.
func (c Update) Apply(s *State, e app.Event) $type {
	$item := s.$all[c.ID]
	`+set+`$item.UpdatedAt = e.Time
	return *$item
}`, "context", c.p.Import("core/app"))
	return file
}

func (c crud) remove() gen.GoFile {
	file := c.file()
	c.command(file, "Delete", fmt.Sprintf("takes %s %s away, and gives it back as it was.", article(c.one), c.one), []string{"hints destructive idempotent"}, c.idField())
	c.text(file, `// Check refuses an id that is not known.
func (c Delete) Check(ctx context.Context, s *State) error {
	return s.known(c.ID)
}

// Apply takes the $one away.
func (c Delete) Apply(s *State, e app.Event) $type {
	$item := s.$all[c.ID]
	s.drop(s.after($item.Seq) - 1)
	delete(s.$all, c.ID)
	return *$item
}

// drop takes the id at a place out of Order. It moves the shorter side: the oldest go as quickly as the newest.
func (s *State) drop(at int) {
	if at < len(s.Order)/2 {
		copy(s.Order[1:at+1], s.Order[:at])
		s.Order = s.Order[1:]
		return
	}
	s.Order = slices.Delete(s.Order, at, at+1)
}`, "context", "slices", c.p.Import("core/app"))
	return file
}

func (c crud) get() gen.GoFile {
	file := c.file()
	c.command(file, "Get", "returns one "+c.one+".", nil, c.idField())
	c.text(file, `// Answer finds it.
func (q Get) Answer(ctx context.Context, s *State) ($type, error) {
	if err := s.known(q.ID); err != nil {
		return $type{}, err
	}
	return *s.$all[q.ID], nil
}`, "context")
	return file
}

// list is the query for all items, in pages. It looks at those of the page alone.
func (c crud) list() gen.GoFile {
	file := c.file()
	c.text(file, `// List lists $feature in the order in which they were created, a page at a time.
type List struct {
	Limit int 'json:"limit" schema:"min=1,max=100,default=20"' // How many at most
	After int64 'json:"after,omitempty" schema:"min=0"' // What next was on the page before; left out for the first one
}

// ListOutput is one page.
type ListOutput struct {
	Items []$type 'json:"items"' // Those on the page
	Next int64 'json:"next,omitempty"' // What to give as after for the next page; left out on the last one
}

// Answer finds the page. It stays where it is when others are deleted.
func (q List) Answer(ctx context.Context, s *State) (ListOutput, error) {
	rest := s.Order[s.after(q.After):]
	page := rest[:min(max(q.Limit, 1), len(rest))]
	out := ListOutput{Items: make([]$type, 0, len(page))}
	for _, id := range page {
		out.Items = append(out.Items, *s.$all[id])
	}
	if len(page) < len(rest) {
		out.Next = out.Items[len(page)-1].Seq
	}
	return out, nil
}`, "context")
	return file
}
