package generators

import (
	"errors"
	"fmt"
	"os"
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
	fields  []gen.Field
	sets    map[string][]jen.Code // fields with values for tests, by placeholder
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
		fmt.Sprintf("Call it: go run ./cmd/%s call %s_list.", c.p.Name, c.feature),
		fmt.Sprintf("The type %s is in %s/state.go.", c.typ, featureDir(c.feature)),
	}
	return draft, nil
}

func newCRUD(p gen.Project, in FeatureInput, fields []gen.Field) (crud, error) {
	c := crud{p: p, feature: in.Name, fields: fields, all: "Items"}
	if err := gen.CheckWireName(in.Name+"_create", p.Name); err != nil {
		return c, err
	}
	if name, err := gen.ParseName(in.Name, p.Initialisms...); err == nil && name.Go() != "Order" {
		c.all = name.Go()
	}
	text := in.Item
	if text == "" {
		text = "item"
		one, _ := singular(in.Name)
		if name, err := gen.ParseName(one, p.Initialisms...); err == nil && !isCRUDName(name.Go()) {
			text = one
		}
	}
	name, err := gen.ParseName(text, p.Initialisms...)
	if err != nil {
		return c, err
	}
	c.one, c.typ = name.Human(), name.Go()
	if isCRUDName(c.typ) {
		return c, fmt.Errorf("the type name %s, from item %q, is reserved in a feature; choose another name", c.typ, in.Item)
	}
	for _, f := range fields {
		if slices.Contains([]string{"ID", "Seq", "CreatedAt", "UpdatedAt"}, f.Go) {
			return c, fmt.Errorf("field %q: every item already has this field; omit yours, or rename it", f.Name)
		}
	}
	return c, nil
}

// isCRUDName reports whether a feature with crud uses a Go name for something other than its items.
func isCRUDName(name string) bool {
	return slices.Contains([]string{"Create", "Update", "Delete", "Get", "List", "ListOutput"}, name) || isReserved(name)
}

func (c crud) structure(fields []gen.Field) structure {
	return structure{name: c.typ, prefix: c.typ, fields: fields, logged: true}
}

// text adds Go source to a file. It replaces $WORD by expand(WORD), and ' by a backquote.
func (c crud) text(file gen.GoFile, source string, imports ...string) {
	source = strings.ReplaceAll(source, "'", "`")
	file.Text(os.Expand(source, func(word string) string { return c.expand(file, word) }), imports...)
}

func (c crud) expand(file gen.GoFile, word string) string {
	switch word {
	case "pkg":
		return strings.TrimSuffix(file.Ref(c.path(), "X"), ".X")
	case "serve":
		return serveFeature(c.p, file, c.feature)
	}
	words := map[string]string{"feature": c.feature, "type": c.typ, "all": c.all, "key": strings.ToLower(c.all), "one": c.one}
	if text, ok := words[word]; ok {
		return text
	}
	word, lines := strings.CutSuffix(word, " lines")
	var members []string
	for _, member := range c.sets[word] {
		members = append(members, file.Code(jen.Add(member)))
	}
	if lines {
		return strings.Join(append(members, ""), ",\n")
	}
	return strings.Join(members, ", ")
}

func (c crud) path() string { return c.p.Import(featureDir(c.feature)) }

func (c crud) state() gen.GoFile {
	file, members := c.file(), ""
	for _, f := range c.fields {
		f.Min, f.Max = "", "" // create and update check limits
		members += c.structure(nil).member(file, f) + "\n"
	}
	c.text(file, `// State is the state of $feature, rebuilt from the event log. Only commands change it.
type State struct {
	$all map[string]*$type 'json:"$key"' // By ID
	Order []string 'json:"order"' // IDs in order of creation
}`)
	file.Text("// "+c.typ+" is one "+c.one+".\ntype "+c.typ+" struct {\nID string `json:\"id\"`\n"+
		"Seq int64 `json:\"seq\"` // Position in the order of creation\n"+members+
		"CreatedAt time.Time `json:\"created_at\"`\nUpdatedAt time.Time `json:\"updated_at\"`\n}", "time")
	c.structure(c.fields).writeEnums(file)
	c.text(file, `// NewState returns the state before the first command.
func NewState() *State {
	return &State{$all: map[string]*$type{}}
}

// checkID returns an error if no $one has the ID.
func (s *State) checkID(id string) error {
	if s.$all[id] == nil {
		return fmt.Errorf("no $one %q; ${feature}_list lists $feature", id)
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
	return gen.Field{Name: "id", Go: "ID", Type: gen.FieldType{Kind: gen.KindString}, Description: "ID of the " + c.one}
}

// command returns the file of a command or query: its type, which shares the enums of the items,
// and its methods.
func (c crud) command(s structure, methods string, imports ...string) source {
	file := c.file()
	s.prefix, s.logged = c.typ, true
	s.writeType(file)
	c.text(file, methods, append(imports, "context")...)
	return source{strings.ToLower(s.name) + ".go", file}
}

func (c crud) create() source {
	about, set := fmt.Sprintf("adds one %s.", c.one), ""
	for _, f := range c.fields {
		set += fmt.Sprintf("%s: c.%[1]s,\n", f.Go)
	}
	return c.command(structure{name: "Create", about: about, directives: []string{"hints additive"}, fields: c.fields}, `// Check accepts every $one: the schema validates the fields.
func (c Create) Check(ctx context.Context, s *State) error {
	return nil
}

// Apply adds the $one to s.
func (c Create) Apply(s *State, e app.Event) $type {
	item := &$type{
		ID: e.ID,
		Seq: e.Seq,
		`+set+`CreatedAt: e.Time,
		UpdatedAt: e.Time,
	}
	s.$all[item.ID] = item
	s.Order = append(s.Order, item.ID)
	return *item
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
	about, set := fmt.Sprintf("changes the given fields of one %s.", c.one), ""
	for _, f := range c.fields {
		star := "*"
		if f.Optional || f.Type.MayBeNil() {
			star = ""
		}
		set += fmt.Sprintf("if c.%s != nil {\nitem.%[1]s = %sc.%[1]s\n}\n", f.Go, star)
	}
	return c.command(structure{name: "Update", about: about, directives: []string{"hints idempotent"}, fields: c.updateFields()}, `// Check refuses to change an unknown $one.
func (c Update) Check(ctx context.Context, s *State) error {
	return s.checkID(c.ID)
}

// Apply changes the $one.
func (c Update) Apply(s *State, e app.Event) $type {
	item := s.$all[c.ID]
	`+set+`item.UpdatedAt = e.Time
	return *item
}`, c.p.Import("core/app"))
}

func (c crud) remove() source {
	about := fmt.Sprintf("deletes one %s and returns it.", c.one)
	return c.command(structure{name: "Delete", about: about, directives: []string{"hints destructive idempotent"}, fields: []gen.Field{c.idField()}}, `// Check refuses to delete an unknown $one.
func (c Delete) Check(ctx context.Context, s *State) error {
	return s.checkID(c.ID)
}

// Apply removes the $one from s.
func (c Delete) Apply(s *State, e app.Event) $type {
	item := s.$all[c.ID]
	at := s.after(item.Seq) - 1
	s.Order = slices.Delete(s.Order, at, at+1)
	delete(s.$all, c.ID)
	return *item
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

// list returns the query that lists items in pages. Its cost depends on the page, not on the number
// of items.
func (c crud) list() gen.GoFile {
	file := c.file()
	c.text(file, `// List lists $feature in order of creation, in pages.
type List struct {
	Limit int 'json:"limit" schema:"min=1,max=100,default=20"' // Maximum number of items
	After int64 'json:"after,omitempty" schema:"min=0"' // Value of next on the previous page
}

// ListOutput is one page.
type ListOutput struct {
	Items []$type 'json:"items"' // Items of this page
	Next int64 'json:"next,omitempty"' // Value of after for the next page; absent on the last page
}

// Answer returns the page after q.After. Deletions between two calls do not skip or repeat items.
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

// tests returns the tests of a feature that stores items. Each component has its own test file,
// which only calls that component and create, so that the others can be destroyed.
func (c crud) tests() ([]source, error) {
	if err := c.setValues(); err != nil {
		return nil, err
	}
	const created = "client.Given(\"${feature}_create\", ${pkg}.Create{${required}})\n"
	second, all := "", ""
	if slices.ContainsFunc(c.fields, func(f gen.Field) bool { return f.Optional }) {
		second, all = itemOf("second", 2, 2, "whole"), `
			{Name: "all fields", Input: ${pkg}.Create{${whole}}, Output: second},`
	}
	return []source{
		c.testFile("create", itemOf("first", 1, 1, "required")+second+checksOf("create", `
			{Name: "required fields", Input: ${pkg}.Create{${required}}, Output: first},`+all)),
		c.testFile("update", created+itemOf("changed", 1, 2, "changed")+checksOf("update", `
			{Name: "one field", Input: ${pkg}.Update{${changes}}, Output: changed},
			{Name: "unknown ID", Input: ${pkg}.Update{ID: "id9"}, Error: "no ${one}"},`)),
		// Destroying list removes the second test.
		c.testFile("delete", created+itemOf("first", 1, 1, "required")+checksOf("delete", `
			{Name: "delete", Input: ${pkg}.Delete{ID: "id1"}, Output: first},
			{Name: "delete again", Input: ${pkg}.Delete{ID: "id1"}, Error: "no ${one}"},`)+`}

func TestListAfterDelete(t *testing.T) {
	${serve}`+created+created+`client.Given("${feature}_delete", ${pkg}.Delete{ID: "id1"})
	`+itemOf("second", 2, 2, "required")+checksOf("list", `
			{Name: "the rest", Input: ${pkg}.List{Limit: 20}, Output: ${pkg}.ListOutput{Items: []${pkg}.${type}{second}}},
			{Name: "after the deleted one", Input: ${pkg}.List{Limit: 20, After: 1}, Output: ${pkg}.ListOutput{Items: []${pkg}.${type}{second}}},`)),
		c.testFile("get", created+itemOf("first", 1, 1, "required")+checksOf("get", `
			{Name: "get", Input: ${pkg}.Get{ID: "id1"}, Output: first},
			{Name: "unknown ID", Input: ${pkg}.Get{ID: "id9"}, Error: "no ${one}"},`)),
		c.testFile("list", created+created+itemOf("first", 1, 1, "required")+itemOf("second", 2, 2, "required")+checksOf("list", `
			{Name: "default limit", Input: '{}', Output: ${pkg}.ListOutput{Items: []${pkg}.${type}{first, second}}},
			{Name: "first page", Input: ${pkg}.List{Limit: 1}, Output: ${pkg}.ListOutput{Items: []${pkg}.${type}{first}, Next: 1}},
			{Name: "last page", Input: ${pkg}.List{Limit: 1, After: 1}, Output: ${pkg}.ListOutput{Items: []${pkg}.${type}{second}}},
			{Name: "limit too small", Input: ${pkg}.List{Limit: 0}, Error: "invalid arguments"},
			{Name: "limit too large", Input: ${pkg}.List{Limit: 101}, Error: "invalid arguments"},`)),
	}, nil
}

// itemOf returns the declaration of a variable that holds an item. created and updated are the
// numbers of its events.
func itemOf(variable string, created, updated int, set string) string {
	return fmt.Sprintf(`%s := ${pkg}.${type}{
		ID: "id%d",
		Seq: %[2]d,
		${%[4]s lines}CreatedAt: apptest.Time(%[2]d),
		UpdatedAt: apptest.Time(%[3]d),
	}
	`, variable, created, updated, set)
}

// checksOf returns a loop over calls of a command or query.
func checksOf(name, examples string) string {
	return exampleLoop("mcptest.Example", strings.TrimSpace(examples)+"\n", `client.CheckTool(t, "${feature}_`+name+`", example)`) + "\n"
}

// testFile returns the test file of a command or query.
func (c crud) testFile(name, body string) source {
	file := featureTest(c.p, c.feature)
	c.text(file, "func Test"+gen.Capitalize(name)+"(t *testing.T) {\n${serve}"+body+"}", "testing", c.p.Import("core/mcptest"))
	return source{name + "_test.go", file}
}

// setValues sets the values that the tests use.
func (c *crud) setValues() (err error) {
	c.sets = map[string][]jen.Code{}
	add := func(word string, fields []gen.Field, value func(gen.Field) (any, bool)) {
		object, failed := encodeFields(fields, value)
		set, ok := c.structure(fields).shape(c.path()).members(object)
		if failed == nil && !ok {
			failed = fmt.Errorf("no value of %s encodes to %s", c.typ, object)
		}
		c.sets[word], err = set, errors.Join(err, failed)
	}
	other, value := c.changedField()
	add("required", c.fields, requiredSample)
	add("whole", c.fields, anySample)
	add("changed", c.fields, samplesExcept(other, value))
	add("changes", c.updateFields(), func(f gen.Field) (any, bool) {
		if f.Name == "id" {
			return "id1", true
		}
		return value, f.Name == other.Name
	})
	return err
}

// changedField returns a field that the test of update changes, with its new value.
func (c crud) changedField() (gen.Field, any) {
	for _, f := range c.fields {
		if value, ok := f.OtherSample(); ok {
			return f, value
		}
	}
	return c.fields[0], c.fields[0].Sample()
}
