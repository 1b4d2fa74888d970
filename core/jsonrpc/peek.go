package jsonrpc

import "github.com/petrock/petrock/core/strictjson"

// peek looks through a message that will not be read, in constant memory, for
// what an answer to it needs: its id, and whether it wants one at all. It
// takes the message in pieces of any size and trusts nothing about it.
type peek struct {
	depth    int
	quoted   bool   // inside a string
	escaped  bool   // behind a backslash
	wantKey  bool   // the next string at the top level is a key
	inKey    bool   // inside that key
	raw      []byte // the key being read, with its quotes, as far as it matters
	key      string // of the member whose value is being read
	id       []byte
	ids      int
	tooLong  bool // the id is longer than anyone's
	isCall   bool // there is a "method"
	isNamed  bool // and it is a string
	isAnswer bool // there is a "result" or an "error"
}

const (
	longestKey = len(`"method"`) * len(`\u0000`) // every letter may be escaped
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
			p.raw = append(p.raw[:0], c)
		} else {
			p.collect(c)
		}
	case c == '{' || c == '[':
		p.depth++
		p.wantKey = c == '{' && p.depth == 1
	case c == '}' || c == ']':
		p.depth--
	case p.depth == 1 && c == ',':
		p.key, p.wantKey = "", true
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
	case !p.inKey:
		p.collect(c)
	case len(p.raw) < longestKey:
		p.raw = append(p.raw, c)
	}
	if end {
		p.quoted, p.inKey = false, false
	}
}

// member takes note of a key at the top level; its value comes next.
func (p *peek) member() {
	p.key, _ = strictjson.Unquote(p.raw)
	switch p.key {
	case "id":
		p.ids++
		p.id = p.id[:0]
	case "method":
		p.isCall = true
	case "result", "error":
		p.isAnswer = true
	}
}

// collect keeps a byte of the id's value and forgets nearly all others.
func (p *peek) collect(c byte) {
	switch {
	case p.depth != 1 || p.wantKey:
	case p.key == "method":
		p.isNamed = p.isNamed || c == '"'
	case p.key == "id" && len(p.id) >= longestID:
		p.tooLong = true
	case p.key == "id":
		p.id = append(p.id, c)
	}
}

// whose returns what there is to know: the id, if there is exactly one good one,
// and whether the message is one that nobody answers.
func (p *peek) whose() fault {
	f := fault{
		response:     p.isAnswer && !p.isCall,
		notification: p.isNamed && p.ids == 0,
	}
	if p.ids == 1 && !p.tooLong {
		f.id, _ = ParseID(p.id)
	}
	return f
}
