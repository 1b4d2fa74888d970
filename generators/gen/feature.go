package gen

// A Feature is what there is of a feature of a project. Of one from which nothing can be derived as it is,
// only the names are known.
type Feature struct {
	Name     string
	Dir      string   // from the project's root
	Declared []string // all names that its package declares, sorted, without those of derived files and tests
	Strings  []string // declared types that are strings, such as those of enumerations
	Commands []FeatureTool
	Queries  []FeatureTool
}

// A FeatureTool is a command or query of a feature.
type FeatureTool struct {
	Type   string // in Go, such as Create
	Name   string // of the tool, such as posts_create
	Entry  string // of a command: what the log calls it, such as posts/create
	Fields []StructField
}

// A StructField is one of a struct, as it is written.
type StructField struct {
	Name string // in Go; empty if it is embedded
	Type string // such as []string
	Tag  string // without its quotes
}
