// Package derive makes of plain Go what a server needs besides: the registration of tools,
// resources and prompts, the JSON Schema of what they take and give back, and the wiring of the
// program that ships.
//
// # Components
//
// In the folders tools, resources and prompts, each exported function is a component, and so is
// each exported method of the type Tools, Resources or Prompts, which is where dependencies
// live; its maker is func New() (*Tools, error), which may take a context.
//
//	func Search(ctx context.Context, in SearchInput) (SearchOutput, error)  // a tool
//	func Note(ctx context.Context, in NoteInput) (string, error)            // a resource, or without in
//	func Review(ctx context.Context, in ReviewInput) (string, error)        // a prompt
//
// In the folder generators, each exported function that makes a draft is a generator of the workshop:
//
//	func Handler(p kit.Project, in HandlerInput) (kit.Draft, error)
//
// Its doc comment is its description. An exported function of another shape is an error, so that
// no tool is missing without a word. Directives in the doc comment say what Go cannot:
//
//	//petrock:ignore               it is not a component
//	//petrock:name send-mail       what clients call it, instead of the function's name in snake case
//	//petrock:title Send a mail    what people are shown
//	//petrock:hints read-only      and: destructive, additive, idempotent, open-world, closed-world
//	//petrock:uri note://{id}      where a resource is; {id} is a field of its input
//	//petrock:mime text/markdown   what a resource is
//	//petrock:schema {"type":…}    on a type: its schema, where it cannot be derived
//
// # Schemas
//
// A schema says what encoding/json reads and writes. The comment of a field is its description. A field
// is optional if it is a pointer, has omitempty or omitzero, or a default. A type with constants is
// an enumeration of them. The tag schema has limits and defaults:
//
//	Limit int      `json:"limit" schema:"min=1,max=100,default=20"`
//	Title string   `json:"title" schema:"min=1,pattern='^[A-Z]'"`
//	Tags  []string `json:"tags" schema:"max=10,unique"`
//
// For strings min and max are lengths, for lists and maps numbers of entries; strings also have
// pattern and format. A default is a field's of the input itself, or of a struct in it.
//
// # Derived files
//
// They are called *_gen.go, begin with a line that says so, and are made of the other files of
// their package, without the bodies of functions and without tests. The same source gives the same bytes.
package derive
