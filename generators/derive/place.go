package derive

// A Kind is a kind of component.
type Kind string

// The kinds.
const (
	Tool      Kind = "tool"
	Resource  Kind = "resource"
	Prompt    Kind = "prompt"
	Generator Kind = "generator"
)

// A Place is a folder whose package holds components.
type Place struct {
	Dir   string // from the project's root
	Kind  Kind
	Wired bool // the program that ships offers what is there
}

// Places are the folders in which a project has components.
func Places() []Place {
	return []Place{
		{"generators", Generator, false},
		{"generators/workshop", Tool, false},
		{"prompts", Prompt, true},
		{"resources", Resource, true},
		{"tools", Tool, true},
	}
}

// PlaceOf is the folder to which a project adds components of a kind.
func PlaceOf(kind Kind) (Place, bool) {
	for _, place := range Places() {
		if place.Kind == kind && (place.Wired || kind == Generator) {
			return place, true
		}
	}
	return Place{}, false
}

// offer is the name of the derived function that has all components of the place.
func (p Place) offer() string {
	if p.Kind == Generator {
		return "All"
	}
	return "Register"
}

// receiver is the name of the type whose methods are components, beside functions.
func (p Place) receiver() string {
	switch p.Kind {
	case Tool:
		return "Tools"
	case Resource:
		return "Resources"
	case Prompt:
		return "Prompts"
	}
	return ""
}
