package mcp

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/petrock/petrock/core/auth"
	"github.com/petrock/petrock/core/strictjson"
)

const (
	// stateLife is how long a client, and the person in front of it, may take to answer.
	stateLife = time.Hour
	// stateWindow is how many states may be out at a time: an older one counts as expired.
	stateWindow = 1 << 16
)

// A stateKeeper makes the requestState that goes with questions and comes back with their
// answers, and recognises it. The state is signed, holds for one call of just the
// same method and params by the same caller, for a time, and once. Only its number is remembered here. Of several processes
// that have the same key each takes a state once: they know nothing of each other.
type stateKeeper struct {
	key   func() []byte
	maker func() string // names the process: another that has the same key has other numbers

	mu     sync.Mutex
	issued uint64   // how many there have been
	used   []uint64 // a bit for each of the latest; nil before the first

	foreign map[string]int64 // states of other processes that were used here, and when they expire
}

func newStateKeeper(key []byte) *stateKeeper {
	k := &stateKeeper{maker: sync.OnceValue(rand.Text)} // most servers never ask
	k.key = sync.OnceValue(func() []byte {
		if len(key) > 0 {
			return slices.Clone(key)
		}
		key := make([]byte, sha256.Size)
		rand.Read(key) // never fails
		return key
	})
	return k
}

// A dialogueState is what a requestState says.
type dialogueState struct {
	Number  uint64                     `json:"n"`
	Maker   string                     `json:"m"`
	Expires int64                      `json:"e"` // in seconds since 1970
	Call    []byte                     `json:"c"` // a digest of the call
	Asked   []string                   `json:"q"` // keys of the open questions
	Answers map[string]json.RawMessage `json:"a,omitempty"`

	ticket *ticket
}

func (s *dialogueState) expects(key string) bool { return slices.Contains(s.Asked, key) }

// seal makes the state for the questions that a call ends with, and the answers so far.
func (k *stateKeeper) seal(c *Call, questions map[string]inputRequest, answers map[string]json.RawMessage) (string, error) {
	digest, err := callDigest(c)
	if err != nil {
		return "", err
	}
	payload, err := strictjson.Marshal(dialogueState{
		Number:  k.issue(),
		Maker:   k.maker(),
		Expires: time.Now().Add(stateLife).Unix(),
		Call:    digest,
		Asked:   slices.Sorted(maps.Keys(questions)),
		Answers: answers,
	})
	if err != nil {
		return "", err
	}
	text := base64.RawURLEncoding.EncodeToString(payload)
	return text + "." + k.sign(text), nil
}

func (k *stateKeeper) sign(text string) string {
	mac := hmac.New(sha256.New, k.key())
	mac.Write([]byte(text))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// open reads a state that came with a call. Its errors say what is wrong with it.
func (k *stateKeeper) open(c *Call, state string) (*dialogueState, error) {
	text, signature, _ := strings.Cut(state, ".")
	if !hmac.Equal([]byte(signature), []byte(k.sign(text))) {
		return nil, errors.New("is not one that this server gave")
	}
	payload, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return nil, err
	}
	var s dialogueState
	if err := strictjson.Unmarshal(payload, &s); err != nil {
		return nil, err
	}
	digest, err := callDigest(c)
	switch {
	case err != nil:
		return nil, err
	case !hmac.Equal(digest, s.Call):
		return nil, errors.New("was given for another call: method and params must be the same")
	case time.Now().Unix() >= s.Expires:
		return nil, errors.New("has expired")
	}
	s.ticket = &ticket{keeper: k, number: s.Number, expires: s.Expires}
	if s.Maker != k.maker() {
		s.ticket.foreign = signature
	}
	return &s, s.ticket.check()
}

// issue returns the number of a new state.
func (k *stateKeeper) issue() uint64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.used == nil {
		k.used = make([]uint64, stateWindow/64)
	}
	k.issued++
	word, bit := place(k.issued)
	k.used[word] &^= bit
	return k.issued
}

// A ticket is the right to use a state.
type ticket struct {
	keeper  *stateKeeper
	number  uint64
	expires int64
	foreign string // tells a state of another process from others; "" for one of this
}

// check reports whether it can be redeemed.
func (t *ticket) check() error {
	t.keeper.mu.Lock()
	defer t.keeper.mu.Unlock()
	return t.good()
}

// redeem uses the state up.
func (t *ticket) redeem() error {
	t.keeper.mu.Lock()
	defer t.keeper.mu.Unlock()
	err := t.good()
	if err == nil && t.foreign != "" {
		t.keeper.remember(t.foreign, t.expires)
	} else if err == nil {
		word, bit := place(t.number)
		t.keeper.used[word] |= bit
	}
	return err
}

// good reports what is wrong with the state, if anything. keeper.mu is held.
func (t *ticket) good() error {
	if t.foreign != "" {
		if _, used := t.keeper.foreign[t.foreign]; used {
			return errors.New("has been used")
		}
		return nil
	}
	word, bit := place(t.number)
	switch {
	case t.number+stateWindow <= t.keeper.issued:
		return errors.New("has expired")
	case t.keeper.used[word]&bit != 0:
		return errors.New("has been used")
	}
	return nil
}

// giveBack makes a redeemed state good again.
func (t *ticket) giveBack() {
	t.keeper.mu.Lock()
	defer t.keeper.mu.Unlock()
	if t.foreign != "" {
		delete(t.keeper.foreign, t.foreign)
	} else if t.number+stateWindow > t.keeper.issued {
		word, bit := place(t.number)
		t.keeper.used[word] &^= bit
	}
}

// remember notes that a state of another process has been used; not more of them than there are of this one. mu is held.
func (k *stateKeeper) remember(state string, expires int64) {
	if len(k.foreign) >= stateWindow {
		maps.DeleteFunc(k.foreign, func(_ string, expires int64) bool { return expires <= time.Now().Unix() })
	}
	if len(k.foreign) >= stateWindow {
		clear(k.foreign) // nobody comes so far within an hour but to make us run out of memory
	}
	if k.foreign == nil {
		k.foreign = make(map[string]int64)
	}
	k.foreign[state] = expires
}

// place is where the bit of a number is.
func place(number uint64) (word int, bit uint64) {
	at := number % stateWindow
	return int(at / 64), 1 << (at % 64)
}

// callDigest stands for a call without its _meta and answers: what must be the same when
// it comes again, whatever the order of keys and the space between them, and whatever a hook
// made of it. Absent arguments are empty ones.
func callDigest(c *Call) ([]byte, error) {
	params := make(map[string]any)
	err := strictjson.Members(c.req.Params, func(key, value []byte) error {
		switch string(key) {
		case "_meta", "inputResponses", "requestState":
			return nil
		}
		var v any
		d := json.NewDecoder(bytes.NewReader(value))
		d.UseNumber() // large ones that differ are not the same
		if err := d.Decode(&v); err != nil {
			return err
		}
		if empty, ok := v.(map[string]any); v == nil || ok && len(empty) == 0 {
			return nil
		}
		params[string(key)] = v
		return nil
	})
	if err != nil {
		return nil, err
	}
	text, err := strictjson.Marshal([]any{c.Method, params, auth.From(c.ctx).Principal()}) // with its keys in order
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(text)
	return sum[:], nil
}
