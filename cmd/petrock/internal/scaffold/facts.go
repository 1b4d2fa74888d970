package scaffold

// Facts are what texts say of a project's server, which depends on the example that it began with.
type Facts struct {
	Tool      string // one of its tools, which is in a file of its own
	Arguments string // what to call that with, as JSON
	Words     string // the same, as one types it in a terminal
	Keyed     bool   // it is meant for HTTP, and does not start there without a key
}

// Facts are those of the project that the answers lead to.
func (a Answers) Facts() Facts {
	switch a.Example {
	case "moonphase":
		return Facts{Tool: "moonphase", Arguments: `{"when":"2024-04-23T23:49:00Z"}`, Words: "when=2024-04-23T23:49:00Z", Keyed: true}
	case "tasks":
		return Facts{Tool: "get_next_task", Arguments: `{"agent":"ann"}`, Words: "agent=ann"}
	}
	return Facts{Tool: "add", Arguments: `{"a":2,"b":3}`, Words: "a=2 b=3"}
}
