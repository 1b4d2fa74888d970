package generators

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/petrock/petrock/generators/gen"
)

// A crud describes a feature that stores items.
type crud struct {
	p       gen.Project
	feature string
	all     string // field of State that holds the items: Posts
	one     string // an item in plain words: post
	typ     string // type of an item: Post
	item    string // name of variables that hold an item: post
	fields  []gen.Field
}

func crudFeature(p gen.Project, draft gen.Draft, in FeatureInput, fields []gen.Field) (gen.Draft, error) {
	if len(fields) == 0 {
		return gen.Draft{}, errors.New("crud needs the fields of an item, such as title:string")
	}
	c, err := newCRUD(p, in, fields)
	if err != nil {
		return gen.Draft{}, err
	}
	tests, err := c.tests()
	if err != nil {
		return gen.Draft{}, err
	}
	draft.Files, err = renderFiles(featureDir(c.feature), append([]source{
		{"state.go", c.state()}, c.create(), c.update(), c.remove(), c.get(), {"list.go", c.list()},
	}, tests...)...)
	if err != nil {
		return gen.Draft{}, err
	}
	draft.Next = []string{
		c.tryStep(),
		fmt.Sprintf("The type %s is in %s/state.go.", c.typ, featureDir(c.feature)),
		"go test ./" + featureDir(c.feature),
	}
	return draft, nil
}

// tryStep returns a next step: a command line that creates an item or, if a value needs shell
// quotes, the names of the tools.
func (c crud) tryStep() string {
	arguments := ""
	for _, f := range c.fields {
		value := fmt.Sprint(f.Sample())
		switch {
		case f.Optional:
		case !regexp.MustCompile(`^[\w.-]+$`).MatchString(value):
			return fmt.Sprintf("Call %[1]s_create, %[1]s_list, %[1]s_get, %[1]s_update and %[1]s_delete.", c.feature)
		default:
			arguments += " " + f.Name + "=" + value
		}
	}
	return fmt.Sprintf("go run ./cmd/%s call %s_create%s (over MCP: call)", c.p.Name, c.feature, arguments)
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
		one, _ := singular(in.Name)
		if name, err := gen.ParseName(one); err == nil && !isCRUDName(name.Go()) {
			text = one
		}
	}
	name, err := gen.ParseName(text)
	if err != nil {
		return c, err
	}
	c.one, c.typ = name.Human(), name.Go()
	if isCRUDName(c.typ) {
		return c, fmt.Errorf("the type name %s, from item %q, is reserved in a feature; choose another name", c.typ, in.Item)
	}
	c.item = variableName(c.typ)
	for _, f := range fields {
		if err := checkItemField(f); err != nil {
			return c, err
		}
	}
	n := component{kind: "feature", feature: c.feature, goName: "State"}
	return c, n.checkEnumNames(c.structure(fields), structure{name: "Create"}, structure{name: "Update"}, structure{name: "Delete"}, structure{name: "Get"},
		structure{name: "List"}, structure{name: "ListOutput"}, structure{name: "NewState"}, structure{name: "Feature"}, structure{name: "Map"})
}

// isCRUDName reports whether a feature with crud uses a Go name for something other than its items.
func isCRUDName(name string) bool {
	return slices.Contains([]string{"Create", "Update", "Delete", "Get", "List", "ListOutput"}, name) || isReserved(name)
}

// variableName returns the name of a variable of a type: post, or item if that name is taken.
func variableName(typ string) string {
	name := strings.ToLower(typ[:1]) + typ[1:]
	taken := []string{"app", "cmp", "slices", "sort", "fmt", "context", "time", "ctx", "ids", "out", "page", "rest", "err"}
	if len(name) == 1 || slices.Contains(taken, name) || isKeywordOrBuiltin(name) || strings.ToUpper(typ[:2]) == typ[:2] {
		return "item"
	}
	return name
}

// checkItemField refuses a field that every item has, or that has the name of a method.
func checkItemField(f gen.Field) error {
	for _, name := range []string{"id", "seq", "created_at", "updated_at"} {
		if strings.EqualFold(strings.ReplaceAll(f.Name, "_", ""), strings.ReplaceAll(name, "_", "")) {
			return fmt.Errorf("field %q: every item already has the field %s; omit yours, or rename it", f.Name, name)
		}
	}
	return component{kind: "command"}.checkMethodNames([]gen.Field{f}, "Check", "Apply")
}

func (c crud) structure(fields []gen.Field) structure {
	return structure{name: c.typ, prefix: c.typ, fields: fields, logged: true}
}

// text adds Go source to a file. It replaces $type, $all, $item, $one and $feature by the fields of c,
// $key by the JSON key of $all, and ' by a backquote.
func (c crud) text(file gen.GoFile, source string, imports ...string) {
	file.Text(strings.NewReplacer("$type", c.typ, "$all", c.all, "$key", strings.ToLower(c.all), "$item", c.item, "$one", c.one,
		"$feature", c.feature, "'", "`").Replace(source), imports...)
}

func (c crud) state() gen.GoFile {
	file := c.file()
	c.text(file, `// State is the state of $feature, rebuilt from the event log. Only commands change it.
type State struct {
	$all map[string]*$type 'json:"$key"' // By id
	Order []string 'json:"order"' // Ids in order of creation
}`)
	file.Comment(fmt.Sprintf("// %s %s is one item of the feature.", gen.Capitalize(article(c.one)), c.typ))
	bare := c.structure(nil)
	file.Type().Id(c.typ).StructFunc(func(g *jen.Group) {
		g.Id("ID").String().Op("`json:\"id\"`")
		g.Id("Seq").Int64().Op("`json:\"seq\"`").Comment("// Position in the order of creation")
		for _, f := range c.fields {
			f.Min, f.Max = "", "" // create and update check limits
			g.Id(f.Go).Add(bare.typeCode(f)).Op("`" + bare.tags(f) + "`").Do(func(s *jen.Statement) {
				if f.Description != "" {
					s.Comment("// " + f.Description)
				}
			})
		}
		g.Id("CreatedAt").Qual("time", "Time").Op("`json:\"created_at\"`")
		g.Id("UpdatedAt").Qual("time", "Time").Op("`json:\"updated_at\"`")
	})
	c.structure(c.fields).writeEnums(file)
	c.text(file, `// NewState returns the state before the first command.
func NewState() *State {
	return &State{$all: map[string]*$type{}}
}

// checkID returns an error if no $one has the id.
func (s *State) checkID(id string) error {
	if s.$all[id] == nil {
		return fmt.Errorf("no $one %q; $feature_list lists $feature", id)
	}
	return nil
}

// after returns the index in Order of the first $one with a Seq above seq.
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

// command returns the file of a command or query: its type, which shares the enums of the items, and its
// methods.
func (c crud) command(s structure, methods string, imports ...string) source {
	file := c.file()
	s.prefix, s.logged = c.typ, true
	s.writeType(file)
	c.text(file, methods, append(imports, "context")...)
	return source{strings.ToLower(s.name) + ".go", file}
}

func (c crud) create() source {
	about, set := fmt.Sprintf("adds %s %s.", article(c.one), c.one), ""
	for _, f := range c.fields {
		set += fmt.Sprintf("%s: c.%[1]s,\n", f.Go)
	}
	return c.command(structure{name: "Create", about: about, directives: []string{"hints additive"}, fields: c.fields}, `// Check accepts every $one: the schema validates the fields.
func (c Create) Check(ctx context.Context, s *State) error {
	return nil
}

// Apply adds the $one to s.
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
}`, c.p.Import("core/app"))
}

func (c crud) updateFields() []gen.Field {
	fields := []gen.Field{c.idField()}
	for _, f := range c.fields {
		f.Optional = true
		fields = append(fields, f)
	}
	return fields
}

func (c crud) update() source {
	about, set := fmt.Sprintf("changes the given fields of %s %s.", article(c.one), c.one), ""
	for _, f := range c.fields {
		star := "*"
		if f.Optional || f.Type.MayBeNil() {
			star = ""
		}
		set += fmt.Sprintf("if c.%s != nil {\n$item.%[1]s = %sc.%[1]s\n}\n", f.Go, star)
	}
	return c.command(structure{name: "Update", about: about, directives: []string{"hints idempotent"}, fields: c.updateFields()}, `// Check refuses an unknown id.
func (c Update) Check(ctx context.Context, s *State) error {
	return s.checkID(c.ID)
}

// Apply changes the $one.
func (c Update) Apply(s *State, e app.Event) $type {
	$item := s.$all[c.ID]
	`+set+`$item.UpdatedAt = e.Time
	return *$item
}`, c.p.Import("core/app"))
}

func (c crud) remove() source {
	about := fmt.Sprintf("deletes %s %s and returns it.", article(c.one), c.one)
	return c.command(structure{name: "Delete", about: about, directives: []string{"hints destructive idempotent"}, fields: []gen.Field{c.idField()}}, `// Check refuses an unknown id.
func (c Delete) Check(ctx context.Context, s *State) error {
	return s.checkID(c.ID)
}

// Apply removes the $one from s.
func (c Delete) Apply(s *State, e app.Event) $type {
	$item := s.$all[c.ID]
	s.removeID(s.after($item.Seq) - 1)
	delete(s.$all, c.ID)
	return *$item
}

// removeID removes the id at an index of Order. It moves the ids on the shorter side, so that deleting
// the first is as fast as the last.
func (s *State) removeID(at int) {
	if at < len(s.Order)/2 {
		copy(s.Order[1:at+1], s.Order[:at])
		s.Order = s.Order[1:]
		return
	}
	s.Order = slices.Delete(s.Order, at, at+1)
}`, "slices", c.p.Import("core/app"))
}

func (c crud) get() source {
	return c.command(structure{name: "Get", about: "returns one " + c.one + ".", fields: []gen.Field{c.idField()}}, `// Answer returns the $one.
func (q Get) Answer(ctx context.Context, s *State) ($type, error) {
	if err := s.checkID(q.ID); err != nil {
		return $type{}, err
	}
	return *s.$all[q.ID], nil
}`)
}

// list returns the query that lists items in pages. Its cost depends on the page, not on the number of items.
func (c crud) list() gen.GoFile {
	file := c.file()
	c.text(file, `// List lists $feature in order of creation, in pages.
type List struct {
	Limit int 'json:"limit" schema:"min=1,max=100,default=20"' // Maximum number of items
	After int64 'json:"after,omitempty" schema:"min=0"' // Value of next from the previous page; omit for the first page
}

// ListOutput is one page.
type ListOutput struct {
	Items []$type 'json:"items"' // Items of this page
	Next int64 'json:"next,omitempty"' // Value of after for the next page; absent on the last page
}

// Answer returns a page. Deletions between two calls do not skip or repeat items.
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
