package jsonrpc

// peek looks through a message that will not be read, in constant memory, for
// what an answer to it needs: its id, and whether it is itself an answer. It
// takes the message in pieces of any size and trusts nothing about it.
type peek struct {
	depth    int
	quoted   bool // inside a string
	escaped  bool // behind a backslash
	wantKey  bool // the next string at the top level is a key
	inKey    bool
	key      []byte // of the member being read, as far as it matters
	id       []byte
	ids      int
	tooLong  bool // the id is longer than anyone's
	isCall   bool // there is a "method"
	isAnswer bool // there is a "result" or an "error"
}

const (
	longestKey = len("method")
	longestID  = 256
)

func (p *peek) feed(data []byte) {
	for _, c := range data {
		p.step(c)
	}
}

func (p *peek) step(c byte) {
	switch {
	case p.quoted:
		p.inString(c)
	case c == '"':
		p.quoted = true
		p.inKey = p.depth == 1 && p.wantKey
		if p.inKey {
			p.key = p.key[:0]
		} else {
			p.collect(c)
		}
	case c == '{' || c == '[':
		p.depth++
		if p.depth == 1 {
			p.wantKey = c == '{'
		}
	case c == '}' || c == ']':
		p.depth--
	case p.depth == 1 && c == ',':
		p.wantKey = true
	case p.depth == 1 && c == ':':
		p.wantKey = false
		p.member()
	case c > ' ':
		p.collect(c)
	}
}

func (p *peek) inString(c byte) {
	end := c == '"' && !p.escaped
	p.escaped = c == '\\' && !p.escaped
	switch {
	case end:
		p.quoted = false
		if !p.inKey {
			p.collect(c)
		}
		p.inKey = false
	case p.inKey:
		if len(p.key) <= longestKey {
			p.key = append(p.key, c)
		}
	default:
		p.collect(c)
	}
}

// member takes note of a key at the top level; its value comes next.
func (p *peek) member() {
	switch string(p.key) {
	case "id":
		p.ids++
		p.id = p.id[:0]
	case "method":
		p.isCall = true
	case "result", "error":
		p.isAnswer = true
	}
}

// collect keeps a byte of the id's value and forgets all others.
func (p *peek) collect(c byte) {
	if p.depth != 1 || p.wantKey || string(p.key) != "id" {
		return
	}
	if len(p.id) >= longestID {
		p.tooLong = true
		return
	}
	p.id = append(p.id, c)
}

// whose returns the id, if there is exactly one good one, and whether the
// message is a response.
func (p *peek) whose() (id ID, response bool) {
	if p.ids == 1 && !p.tooLong {
		id, _ = ParseID(p.id)
	}
	return id, p.isAnswer && !p.isCall
}
