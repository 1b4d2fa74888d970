// Package derive makes of plain Go what a server needs besides: the registration of tools,
// resources, prompts and features, the JSON Schema of what they take and give back, and the wiring of
// the program that ships.
//
// # Components
//
// In the folders tools, resources and prompts, each exported function is a component, and so is
// each exported method of the type Tools, Resources or Prompts, which is where dependencies
// live; its maker is func New() (*Tools, error), which may take a context, and the *mcp.Server for tools that change what is
// offered.
//
//	func Search(ctx context.Context, in SearchInput) (SearchOutput, error)  // a tool
//	func Note(ctx context.Context, in NoteInput) (string, error)            // a resource, or without in
//	func Review(ctx context.Context, in ReviewInput) (string, error)        // a prompt
//
// In the folder generators, each exported function that makes a draft is a generator:
//
//	func Handler(p gen.Project, in HandlerInput) (gen.Draft, error)
//
// Its doc comment is its description. An exported function of another shape is an error, so that
// no tool is missing without a word. Directives in the doc comment say what Go cannot:
//
//	//petrock:ignore               it is not a component
//	//petrock:name send-mail       what clients call it, instead of the function's name in snake case
//	//petrock:title Send a mail    what people are shown
//	//petrock:hints read-only      and: destructive, additive, idempotent, open-world, closed-world
//	//petrock:scopes notes:read    on a tool alone: what a token must allow whoever calls it; several in one line
//	//petrock:uri note://{id}      where a resource is; {id} is a field of its input
//	//petrock:mime text/markdown   what a resource is
//	//petrock:schema {"type":…}    on a type: its schema, where it cannot be derived; it may go on in further such lines
//
// A function, exported or not, completes what people type as an argument of a prompt, or as a variable in the
// address of a resource, if its directive has the name of that:
//
//	//petrock:completes review
//	func completeReview(ctx context.Context, argument, prefix string, known map[string]string) ([]string, error)
//
// # Features
//
// Each folder features/NAME is a feature: a package with a state, commands that change it, queries that
// read it and workers that follow it. NAME is one word of small letters and digits.
//
//	type State struct{ … }          // what the log says; snapshots of it are JSON, so all fields are exported
//	func NewState() *State          // before the first command
//
//	// Create writes a post.
//	type Create struct{ … }                                                // a command, whose fields are its input
//	func (c Create) Check(ctx context.Context, s *State) error             // why it cannot be done
//	func (c Create) Apply(s *State, e app.Entry) CreateOutput              // does it: no clock, no randomness, no I/O
//
//	// Get gives back one post.
//	type Get struct{ … }                                                   // a query
//	func (q Get) Answer(ctx context.Context, s *State) (Post, error)
//
//	// Digest sends a mail for each new post.
//	type Digest struct{ … }                                                // a worker; its exported fields are kept
//	func NewDigest(ctx context.Context) (*Digest, error)                   // may be left out, and so may ctx
//	func (w *Digest) OnCreate(ctx context.Context, c Create, e app.Entry) error // c may be a command of another feature
//	func (w *Digest) Every(ctx context.Context) error                      // again and again, with //petrock:every
//
//	func Map(r app.Recorded) (app.Recorded, error)                         // what old entries mean; may be left out
//
// The command Create of posts is the tool posts_create, and its entries in the log are posts/create. A
// type is what the methods that it declares make it; those of what it embeds fill in what it lacks. All
// other types and functions are the package's own business. What is nearly a part of a feature is an
// error. Directives, in the doc comments of the types:
//
//	//petrock:ignore               it is no part of the feature; on a method: it only has the name
//	//petrock:name send-mail       the name of the tool, all of it; the log's stays. Of a worker: instead of digest
//	//petrock:title Send a mail    of a command or query
//	//petrock:hints additive       of a command; and: destructive, idempotent
//	//petrock:scopes posts:write   of a command or query: what a token must allow whoever calls it
//	//petrock:version 2            of a command whose fields changed; see Versions
//	//petrock:every 5m             on the method Every: how often
//	//petrock:pure it only counts  on a function that Apply uses: that it does no harm, and why; see package purity
//
// # Versions
//
// Events of older versions of a command are read as a type with the fields that they have, and upgraded:
//
//	//petrock:version 2
//	type Create struct{ … }
//
//	type CreateV1 struct{ … }                      // named after the command and the version
//	func (old CreateV1) Upgrade() Create           // or CreateV2, which is upgraded in turn
//
// Map is asked about versions that have no such type.
//
// # Schemas
//
// A schema describes what encoding/json reads and writes. It is the one that [schema.Infer] infers by reflection, with
// what only source has: the comment of a field is its description, and a type with constants is an enum
// of them. A field is optional if it is a pointer, has omitempty or omitzero, or a default. The struct tag schema has
// limits, defaults, enums and descriptions, which replace the comment; see [schema.Tag]:
//
//	Limit int      `json:"limit" schema:"min=1,max=100,default=20"`
//	Title string   `json:"title" schema:"min=1,pattern='^[A-Z]'"`
//	Level string   `json:"level" schema:"enum=low|normal|high,description='How urgent, at a glance'"`
//	Tags  []string `json:"tags" schema:"max=10,unique"`
//
// For strings min and max are lengths, for lists and maps numbers of entries; strings also have
// pattern and format. Only fields of the input itself, and of structs in it, have a default or a header. Clients send
// a header over HTTP in addition to the argument, for proxies that read headers alone:
//
//	Region string `json:"region" schema:"header=Region"` // in Mcp-Param-Region
//
// The methods JSONSchema and SchemaEnum do not run when code is derived. A type that has one needs the
// directive schema, or constants.
//
// # Derived files
//
// They are called *_gen.go, begin with a line that says so, and are made of the other files of
// their package, without the bodies of functions and without tests. The same source gives the same bytes.
package derive
