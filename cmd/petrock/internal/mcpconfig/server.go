package mcpconfig

import (
	"net/http"
	"time"
)

// A Kind says how one speaks to a server.
type Kind string

const (
	// Stdio is a program that is started, and spoken to by its standard input and output.
	Stdio Kind = "stdio"
	// HTTP is an address that speaks streamable HTTP.
	HTTP Kind = "http"
	// SSE is an address that speaks the HTTP of revision 2024-11-05.
	SSE Kind = "sse"
)

// A Server is one entry of a configuration file, with its variables filled in.
type Server struct {
	Name    string
	File    string   // that names it
	Shadows []string // other files that name it too, and do not count
	Kind    Kind     // "" if that is what is wrong with it

	// Of Stdio. A command with a slash in it is an absolute path; one without is looked for in the PATH.
	Command string
	Args    []string
	Env     map[string]string // beside what the environment has
	Dir     string            // to start it in, absolute

	// Of HTTP and SSE.
	URL    string
	Header http.Header

	// What Crush has to say.
	Timeout       time.Duration // 0 if nothing is said
	Disabled      bool
	DisabledTools []string // not to be used
	EnabledTools  []string // if there are any, no others are to be used

	// Err is why the server cannot be used: a [*Problem], or several joined. What is wrong is left out of the fields above.
	Err error
}
