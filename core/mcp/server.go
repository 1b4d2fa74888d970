package mcp

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/petrock/petrock/core/internal/pace"
	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/plumbing/peer"
	"github.com/petrock/petrock/core/plumbing/transport"
)

// Options configure a [Server].
type Options struct {
	// Instructions tell the model how to use the server as a whole.
	Instructions string

	// NamePrefix precedes the names of all tools and prompts, such as "git_". The functions that
	// add, complete and remove them take names without it.
	NamePrefix string

	// Hook is called for every request whose params can be read, even if the server will refuse it.
	// It may be nil.
	Hook Hook

	// PageSize is the number of entries in a page of a list (default 1,000).
	PageSize int

	// Grace is how long calls in flight may continue when a session ends (default five seconds). A
	// negative value cancels them immediately.
	Grace time.Duration

	// MaxMessage is the size limit of a message, in bytes (default 1 MiB).
	MaxMessage int

	// Logger is the server's log (default [slog.Default]). It also gets the messages that handlers
	// send with [Logger].
	Logger *slog.Logger

	// CallLog gets a line for each request, at level info. With LogArguments, the line has the
	// params of the request too. If CallLog is nil, requests are not logged.
	CallLog      *slog.Logger
	LogArguments bool

	// Tools, Resources and Prompts declare a capability even if the server has no such component
	// yet. Clients read capabilities only once, so declare kinds that you add later.
	Tools, Resources, Prompts bool

	// StateKey signs requestState, which clients of revision 2026-07-28 return with their answers
	// (default: a random key). Servers behind one load balancer need the same key, because the
	// answer may reach another server. Each server accepts a state once, but does not know which
	// states the others have accepted.
	StateKey []byte

	// ListCache is how long clients may cache lists of components and the result of
	// server/discover. [Resource] has a separate setting for its contents.
	ListCache Cache
}

// A Hook is called for every request whose params can be read, even if the server will refuse it.
// It calls next, which handles the request, and returns the result. It may also refuse the request,
// change the context or the result, call next again, or [Ask] the client. Use it for
// authentication, metrics, tracing and rate limits.
//
// Calls run concurrently, except initialize, ping, server/discover, logging/setLevel and
// subscriptions, which are handled in order. A hook that blocks one of these delays all later
// calls.
type Hook func(ctx context.Context, call *Call, next func(context.Context) (any, error)) (any, error)

// A Server offers tools, resources and prompts to clients. Several goroutines may call its methods,
// before and while it serves. Clients are notified when components are added or removed.
type Server struct {
	info       Implementation
	o          Options
	resultInfo json.RawMessage // the serverInfo of stateless results
	methods    map[string]*method
	ordered    map[string]bool // methods that are served before the next message is read
	states     *stateKeeper
	provided   atomic.Pointer[context.Context] // the values of [Server.Provide]
	forms      sync.Map                        // of json.RawMessage, by reflect.Type; see [AskFor]

	requestPrefix string // random, so that the ids of requests differ between servers
	requests      atomic.Uint64

	tools     registry[*tool]
	resources registry[*resource]
	templates registry[*template]
	prompts   registry[*prompt]

	mu       sync.RWMutex
	watchers map[*changes]struct{}
	declared map[string]bool // kinds of components, and completions
}

// A Session is a connection with one client, from the handshake on. Stateless requests that use the
// same connection are not part of the session. Several goroutines may call its methods. Transports
// create sessions; handlers find theirs in [Call].Session.
type Session struct {
	server    *Server
	conn      *peer.Conn
	state     atomic.Int32
	level     atomic.Pointer[Level] // nil until the client sets a log level
	changes   *changes
	ending    chan struct{}             // closed when the connection begins to end
	stateless bool                      // see NewStatelessSession
	remote    bool                      // the client cannot see local components
	agreed    atomic.Pointer[agreement] // empty before initialize
}

// The states of a session, in order. It never returns to an earlier one.
const (
	stateCreated      = iota // initialize has not been received
	stateInitializing        // initialize has been answered
	stateOperating           // the client has sent notifications/initialized
	stateShutdown            // the connection is ending; calls in flight may finish
)

// An agreement is the result of the handshake. It does not change once it is stored.
type agreement struct {
	info         Implementation // of the client, as it describes itself
	capabilities Capabilities   // of the client
	revision     Revision
	declared     Capabilities // of the server
}

// Revision returns the negotiated revision, or "" before initialize. Handlers use [Call].Revision,
// which is set in both eras.
func (s *Session) Revision() Revision { return s.agreed.Load().revision }

// end is called once, when the connection begins to end. It ends the listen calls of the session.
func (s *Session) end() {
	s.state.Store(stateShutdown)
	close(s.ending)
}

// A Call is a request that the server handles. A [Hook] gets it, and a handler finds it with
// [CallFrom]. Several goroutines may call its methods; do not modify its fields. After the handler
// has returned, the call has ended: [Progress] does nothing, and [Ask] returns an error.
type Call struct {
	Method   string          // such as tools/call
	Target   string          // the name of the tool or prompt, or the URI of the resource
	Params   json.RawMessage // as the client sent them; nil if there are none
	Meta     json.RawMessage // the _meta of the params; nil if there is none
	Revision Revision        // of the call; empty for initialize

	// Session is the session that the call is part of. It is nil in revisions without sessions.
	Session *Session

	target    json.RawMessage // the JSON of Target
	arguments json.RawMessage // as the client sent them

	number    uint64 // of the request, in this server
	method    *method
	via       *Session           // the session that received the call, in any revision
	responder transport.Exchange // of the transport; nil over stdio
	req       *peer.Request
	ctx       context.Context // of the request; ends when the client cancels it
	agreed    *agreement      // of the session; nil in the stateless era
	level     *Level          // the lowest level of log messages for the client; nil sends none
	progress  *progress       // nil if the client does not want progress
	cache     Cache           // of the result
	result    *ToolResult     // of the tool, as the client gets it; nil before it is rendered
	validated bool            // the structured content of the tool matches its schema
	hidden    error           // the error that the client sees only a part of
	pace      *pace.Pace      // measures the handler; nil if it is not measured
	began     time.Time       // see pace

	rawInfo, rawCapabilities json.RawMessage // of the client in the stateless era

	dialogue atomic.Pointer[dialogue] // nil until it is needed

	sending sync.Mutex // held while a notification waits for the client, and to set ended
	ended   atomic.Bool

	mu   sync.Mutex
	meta Meta // for the _meta of the result
}

// statelessParams are params of the stateless era as JSON: members of _meta, and answers to
// questions of the server.
type statelessParams struct {
	version, capabilities, info, level json.RawMessage
	responses, state                   json.RawMessage
}

// progress is the progress that a call has reported to the client, so that it never decreases.
type progress struct {
	token jsonrpc.ID

	mu   sync.Mutex
	last float64 // -Inf before the first
}

// A dialogue holds the questions and answers of a call, see [Ask]. Most calls have none.
type dialogue struct {
	state *dialogueState // of the request; nil if it has none

	mu         sync.Mutex
	answers    map[string]json.RawMessage // by key, of this and earlier rounds
	unanswered map[string]inputRequest    // questions by key
	keys       map[string]bool            // of all questions so far
	before     map[string]bool            // keys that a hook asked before the handler was called
	ran        bool                       // the handler has been called
	used       bool                       // the state has been used
}

// A method is one row of the table of methods, for all revisions.
type method struct {
	run        func(ctx context.Context, c *Call) (any, error)
	target     string // the param that names a component; may be empty
	capability string // the server must have declared it; may be empty
	ordered    bool   // served in the order of messages; others may run concurrently
	cached     bool   // stateless results have a cache lifetime
	mayAsk     bool   // its handlers may ask the client in the stateless era

	handshakeOnly, statelessOnly bool // only the revisions of one era have the method
}

// unknownMethod is the method of calls whose method is not in the table: no revision has it.
var unknownMethod = &method{handshakeOnly: true, statelessOnly: true}

// component returns the kind of component that the method is about, such as tool.
func (m *method) component() string { return strings.TrimSuffix(m.capability, "s") }
