package derive

import (
	"fmt"
	"path"
	"reflect"
	"strings"

	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/typecheck"
)

func (f *finder) render() ([]byte, error) {
	source := "functions"
	if f.place.Kind == Feature {
		source = "types"
	}
	file := gen.NewGoFile(f.pkg.Path(), f.pkg.Name())
	file.HeaderComment(typecheck.DerivedMark + " from the " + source + " of this package. DO NOT EDIT.")
	for _, name := range []string{"core/app", "core/app/appmcp", "core/mcp", "generators/gen"} {
		file.ImportName(f.petrockPackage(name), path.Base(name))
	}
	if constants := f.schemaConstants(); constants != "" {
		file.Text(constants)
		if f.place.Kind != Generator {
			file.Import("encoding/json")
		}
	}
	switch f.place.Kind {
	case Generator:
		f.renderGenerators(file)
	case Feature:
		f.renderFeature(file)
	default:
		f.renderRegister(file)
	}
	return file.Bytes()
}

func (f *finder) renderGenerators(file gen.GoFile) {
	list := ""
	for _, c := range f.found.Components {
		list += fmt.Sprintf("gen.New(%q, %q, %s, %s),\n", c.Name, c.Description, c.constant("inputSchema"), c.Func)
	}
	file.Text(`// All returns the generators, sorted by name.
func All() []gen.Generator {
	return []gen.Generator{
`+list+`}
}`, f.petrockPackage("generators/gen"))
}

// renderRegister writes func Register for functions, and method Register for methods.
func (f *finder) renderRegister(file gen.GoFile) {
	holder := f.place.receiver()
	lists := map[bool][]Component{} // by whether they are methods
	for _, c := range f.found.Components {
		_, isMethod := c.method()
		lists[isMethod] = append(lists[isMethod], c)
	}
	f.renderCalls(file, fmt.Sprintf("// Register registers the %s of this package.\nfunc Register(s *mcp.Server)", strings.ToLower(holder)), lists[false])
	f.renderCalls(file, fmt.Sprintf("// Register registers the %s that are methods of t.\nfunc (t *%s) Register(s *mcp.Server)", strings.ToLower(holder), holder), lists[true])
}

// renderCalls writes a function that registers components. It joins all errors.
func (f *finder) renderCalls(file gen.GoFile, signature string, all []Component) {
	calls, derived := "", ""
	if len(all) == 0 {
		return
	}
	for _, form := range f.found.forms {
		calls += fmt.Sprintf("mcp.AddForm[%s](d, json.RawMessage(%s)),\n", form.name, form.constant().name)
		derived = fmt.Sprintf("d := s.Derived(%q)\n", path.Base(f.place.derivedFile()))
	}
	for _, c := range all {
		for _, c := range c.WithAliases() {
			calls += c.registration()
		}
		if c.registrar() == "d" {
			derived = fmt.Sprintf("d := s.Derived(%q)\n", path.Base(f.place.derivedFile()))
		}
	}
	file.Text(signature+" error {\n"+derived+"return errors.Join(\n"+calls+")\n}", "errors", f.Core+"/mcp")
}

// registration returns the call that registers a component, and that of its completer.
//
//	mcp.AddTool(d, mcp.Tool{Name: "add", …}, Add),
func (c Component) registration() string {
	function := c.handler()
	kind, adder, uriField, complete := "Tool", "AddTool", "", ""
	switch {
	case c.Kind == Prompt:
		kind, adder, complete = "Prompt", "AddPrompt", fmt.Sprintf("s.CompletePrompt(%q", c.Name)
	case c.isTemplate():
		kind, adder, uriField, complete = "ResourceTemplate", "AddResourceTemplate", "URITemplate", fmt.Sprintf("s.CompleteResource(%q", c.URI)
	case c.Kind == Resource:
		kind, adder, uriField = "Resource", "AddResource", "URI"
	}
	var out strings.Builder
	fmt.Fprintf(&out, "mcp.%s(%s, mcp.%s{\n", adder, c.registrar(), kind)
	for _, text := range []struct{ field, value string }{
		{uriField, c.URI}, {"Name", c.Name}, {"Title", c.Title}, {"Description", c.Description}, {"MIMEType", c.MIMEType},
	} {
		if text.value != "" {
			fmt.Fprintf(&out, "%s: %q,\n", text.field, text.value)
		}
	}
	if c.hasInput() {
		fmt.Fprintf(&out, "InputSchema: json.RawMessage(%s),\n", c.constant("inputSchema"))
	}
	if c.Output != nil {
		fmt.Fprintf(&out, "OutputSchema: json.RawMessage(%s),\n", c.constant("outputSchema"))
	}
	if c.annotations != nil {
		var hints []string
		for field, value := range reflect.ValueOf(*c.annotations).Fields() {
			if hint, ok := value.Interface().(*bool); ok && hint != nil {
				hints = append(hints, fmt.Sprintf("%s: new(%t)", field.Name, *hint))
			}
		}
		fmt.Fprintf(&out, "Annotations: &mcp.ToolAnnotations{%s},\n", strings.Join(hints, ", "))
	}
	if len(c.scopes) > 0 {
		fmt.Fprintf(&out, "Scopes: %#v,\n", c.scopes)
	}
	fmt.Fprintf(&out, "}, %s),\n", function)
	if c.completer != "" {
		completer := c.completer
		if _, name, isMethod := strings.Cut(completer, "."); isMethod {
			completer = "t." + name
		}
		fmt.Fprintf(&out, "%s, %s),\n", complete, completer)
	}
	return out.String()
}

// handler returns the function that handles calls, as an expression.
func (c Component) handler() string {
	function, method := c.method()
	switch {
	case method:
		return "t." + function
	case c.Kind == Command && c.writes != 0:
		return "appmcp.DoOlder[" + function + ", " + c.writtenFunc() + "](a)"
	case c.Kind == Command:
		return "appmcp.Do[" + function + "](a)"
	case c.Kind == Query:
		return "appmcp.Query[" + function + "](a)"
	}
	return function
}

// registrar returns the variable that the component is registered with: d requires that its schemas
// match the Go types exactly, and s does not.
func (c Component) registrar() string {
	if c.ownSchema || c.Kind == Resource && !c.isTemplate() {
		return "s"
	}
	return "d"
}

// renderFeature writes func Feature, and the function that registers commands and queries as tools.
func (f *finder) renderFeature(file gen.GoFile) {
	app, appmcp, mcp := f.Core+"/app", f.Core+"/app/appmcp", f.Core+"/mcp"
	name := f.place.featureName()
	lists := map[Kind]string{}
	var tools []Component
	internal := ""
	reason := "the feature has no commands or queries"
	for _, c := range f.found.Components {
		if c.Kind != Feature {
			lists[c.Kind] += f.featureItem(file, c) + ",\n"
		}
		switch {
		case c.Internal:
			reason = "all commands and queries are internal or retired"
			internal += fmt.Sprintf("mcp.AddTool(s, mcp.Tool{Name: %q}, %s),\n", c.Name, c.handler())
		case c.isHidden():
			reason = "all commands and queries are internal or retired"
		case c.Kind.IsTool():
			tools = append(tools, c)
		}
	}
	fields := fmt.Sprintf("Name: %q,\nState: app.StateOf(%s),\n", name, newState)
	for _, list := range []struct {
		kind        Kind
		field, item string
	}{{Command, "Commands", "CommandType"}, {Query, "Queries", "QueryType"}, {Worker, "Workers", "Worker"}} {
		if lists[list.kind] != "" {
			fields += list.field + ": []app." + list.item + "{\n" + lists[list.kind] + "},\n"
		}
	}
	if maps := f.found.mapItems(); maps != "" {
		fields += "Maps: []app.Mapping{\n" + maps + "},\n"
	}
	if f.found.hasMap {
		fields += "Map: " + mapFunc + ",\n"
	}
	used := ""
	for _, other := range f.UsedFeatures(f.view, f.place.Dir) {
		imported := f.Checker.ImportPath(path.Join(Features, other))
		if f.pkg.Scope().Lookup(other) != nil {
			file.ImportAlias(imported, other+"feature")
		} else {
			file.ImportName(imported, other)
		}
		used += file.Ref(imported, "Feature") + "().Feature,\n"
	}
	if used != "" {
		fields += "Uses: []app.Feature{\n" + used + "},\n"
	}
	if internal != "" {
		file.Import("errors")
		file.Import(mcp)
		internal = "Internal: func(s *mcp.Server, a *app.App) error {\nreturn errors.Join(\n" + internal + ")\n},"
	}
	file.Text(`// Feature returns the state, commands, queries, workers and tools of `+name+`.
func Feature() appmcp.Feature {
	return appmcp.Feature{
		Feature: app.Feature{
			`+fields+`},
		Register: register,
		`+internal+`
	}
}`, app, appmcp)
	if len(tools) == 0 {
		file.Text("// register does nothing: "+reason+".\nfunc register(*mcp.Server, *app.App) error {\nreturn nil\n}", mcp)
		return
	}
	f.renderCalls(file, "// register registers the commands and queries of this package as tools.\nfunc register(s *mcp.Server, a *app.App)", tools)
}

// featureItem returns a command, query or worker in the lists of func Feature.
func (f *finder) featureItem(file gen.GoFile, c Component) string {
	arguments := []string{fmt.Sprintf("%q", c.localName())}
	switch c.Kind {
	case Command:
		arguments = append(arguments, fmt.Sprint(c.version))
		for _, o := range c.oldVersions {
			older := fmt.Sprintf("app.OlderOf[%s](%d", o.name, o.version)
			if o.back {
				older += ", " + o.next + "." + downgradeMethod
			}
			arguments = append(arguments, older+")")
		}
		function, writes := "app.CommandTypeOf[", ""
		if c.Retired {
			function = "app.RetiredTypeOf["
		}
		if c.writes != 0 {
			writes = fmt.Sprintf(".Writes(%d)", c.writes)
		}
		return function + c.Func + "](" + strings.Join(arguments, ", ") + ")" + writes
	case Query:
		return "app.QueryTypeOf[" + c.Func + "](" + arguments[0] + ")"
	}
	if strings.HasPrefix(c.constructor, "func") {
		file.Import("context")
	}
	arguments = append(arguments, c.constructor)
	for _, t := range c.triggers {
		if t.every == 0 {
			arguments = append(arguments, fmt.Sprintf("app.On((*%s).%s)", c.Func, t.method))
		} else {
			arguments = append(arguments, fmt.Sprintf("app.Every(%s, (*%s).%s)", file.Code(gen.Duration(t.every)), c.Func, t.method))
		}
	}
	if c.fromStart {
		arguments = append(arguments, "app.FromStart["+c.Func+"]()")
	}
	return "app.WorkerOf(" + strings.Join(arguments, ", ") + ")"
}
