package gen

// A Feature describes a feature of a project. If it has errors, only the names are set.
type Feature struct {
	Name     string
	Dir      string   // from the project's root
	Declared []string // names that its package declares, sorted, without derived files and tests
	Strings  []string // declared types that are strings, such as enums
	Commands []FeatureTool
	Queries  []FeatureTool
}

// A FeatureTool is a command or query of a feature.
type FeatureTool struct {
	Type   string // in Go, such as Create
	Name   string // of the tool, such as posts_create
	Entry  string // of a command: its name in the event log, such as posts/create
	Fields []StructField
}

// A StructField is a field of a struct as source text.
type StructField struct {
	Name string // in Go; empty if it is embedded
	Type string // such as []string
	Tag  string // without its quotes
}
