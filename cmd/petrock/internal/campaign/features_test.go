package campaign_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/petrock/petrock/generators/engine"
	"github.com/petrock/petrock/generators/gen"
)

// A made is a generated component, with the names that other components can depend on.
type made struct {
	operations []string // that can be undone to remove it: the generation, or the undo of its undo
	feature    string   // that contains it, or ""
	begins     bool     // it also created the feature
	commands   []string // that it created, such as posts/create
	follows    []string // commands that it follows
}

// remember returns the made of a component that was generated after others.
func remember(kind string, in input, result *engine.Result, there []made) made {
	m := made{operations: []string{result.Operation}, follows: in.On}
	if !slices.Contains(featureKinds(), kind) {
		return m
	}
	m.feature, _, _ = strings.Cut(in.Name, "/")
	m.begins = !slices.Contains(features(there), m.feature)
	for _, c := range result.Components {
		if c.Kind == "command" {
			m.commands = append(m.commands, strings.Replace(c.Name, "_", "/", 1))
		}
	}
	return m
}

// buildsOn reports whether m depends on another component.
func (m made) buildsOn(other made) bool {
	switch {
	case m.operations[0] == other.operations[0]:
		return false
	case other.begins && m.feature == other.feature:
		return true
	}
	return slices.ContainsFunc(m.follows, func(command string) bool { return slices.Contains(other.commands, command) })
}

// builders returns the components that depend on another.
func builders(all []made, on made) []made {
	var found []made
	for _, m := range all {
		if m.buildsOn(on) {
			found = append(found, m)
		}
	}
	return found
}

// features returns the existing features.
func features(all []made) []string {
	var found []string
	for _, m := range all {
		if m.begins {
			found = append(found, m.feature)
		}
	}
	return found
}

// commands returns the existing commands.
func commands(all []made) []string {
	var found []string
	for _, m := range all {
		found = append(found, m.commands...)
	}
	return found
}

// featureKinds are the kinds of features and of their components.
func featureKinds() []string { return []string{"feature", "command", "query", "worker"} }

// inFeature returns an input of a feature, or of a component of one.
func (m *maker) inFeature(kind string, there []made) input {
	if kind == "feature" {
		in := input{Name: m.feature()}
		for m.IntN(3) > 0 && len(in.Fields) == 0 {
			in.CRUD = true
			in.Fields = m.fields(6, func(name string) string { return m.field(apart(name)) })
			in.Item = one(m, "", "", "thing", "old-item", "ab_entry")
		}
		if len(in.Fields) == 0 {
			in.CRUD, in.Item = false, ""
		}
		return in
	}
	feature := m.feature()
	if all := features(there); len(all) > 0 && m.IntN(4) > 0 {
		feature = one(m, all...)
	}
	in := input{Name: feature + "/" + m.exact(), Description: m.description(), Fields: m.fields(6, m.field)}
	switch kind {
	case "command", "query":
		in.Output = m.fields(4, m.field)
	case "worker":
		// Features that follow each other would be an import cycle.
		all := slices.DeleteFunc(commands(there), func(command string) bool { return age(command) > age(feature) })
		if len(all) > 0 && m.IntN(4) > 0 {
			in.On = append(in.On, one(m, all...))
			if other := one(m, all...); other != in.On[0] && m.IntN(2) == 0 {
				in.On = append(in.On, other)
			}
		}
		if len(in.On) == 0 || m.IntN(3) == 0 {
			in.Every = one(m, "1s", "5m", "1h30m", "24h", "1.5s")
		}
	}
	return in
}

// apart returns the name of a field that items do not have by default.
func apart(name string) string {
	if name == "id" {
		return "the_id"
	}
	return name
}

// feature returns the name of a new feature.
func (m *maker) feature() string {
	name := fmt.Sprintf("f%df%s%s", len(m.used), one(m, words()...), one(m, "s", "", "ies", "es", "9"))
	m.used[name] = true
	return name
}

// age returns the number of a component's feature. Newer features have larger numbers.
func age(name string) (n int) {
	if _, err := fmt.Sscanf(name, "f%df", &n); err != nil {
		panic(err) // not a name from feature
	}
	return n
}

// exact returns a name whose words are all kept in its Go name.
func (m *maker) exact() string {
	for {
		text := m.name()
		if name, err := gen.ParseName(text); err == nil && name.IsExact() {
			return text
		}
	}
}
