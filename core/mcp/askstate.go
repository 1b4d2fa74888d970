package mcp

import (
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

	"github.com/petrock/petrock/core/strictjson"
)

const (
	// stateLife is how long a user may take to answer.
	stateLife = time.Hour
	// maxUsedStates limits the used states that are remembered. If that many unexpired ones are
	// remembered, all states issued so far count as expired.
	maxUsedStates = 1 << 16
)

// A stateKeeper creates and checks the requestState, which is sent with questions and returned with
// the answers. A state is signed and expires after stateLife. It can be used once, by the same
// caller, with the same method and params. The ids of used states are remembered until they expire.
// Processes that share a key accept each other's states; each process accepts a state once.
type stateKeeper struct {
	key []byte

	mu    sync.Mutex
	used  map[string]int64 // expiry by id, as a Unix time
	floor int64            // states that expire at this Unix time or before count as expired
}

// newStateKeeper returns a keeper that signs with key, or with a random key if it is empty.
func newStateKeeper(key []byte) *stateKeeper {
	if len(key) == 0 {
		key = make([]byte, sha256.Size)
		rand.Read(key) // never fails
	}
	return &stateKeeper{used: map[string]int64{}, key: slices.Clone(key)}
}

// A dialogueState is the content of a requestState.
type dialogueState struct {
	ID      string                     `json:"i"`
	Expires int64                      `json:"e"` // Unix time
	Call    []byte                     `json:"c"` // digest of the call
	Asked   []string                   `json:"q"` // keys of the open questions
	Answers map[string]json.RawMessage `json:"a,omitempty"`
}

// seal returns the signed state for the open questions of a call and the answers so far. call is
// the digest of the call.
func (k *stateKeeper) seal(call []byte, asked []string, answers map[string]json.RawMessage) (string, error) {
	payload, err := strictjson.Marshal(dialogueState{
		ID:      rand.Text(),
		Expires: time.Now().Add(stateLife).Unix(),
		Call:    call,
		Asked:   asked,
		Answers: answers,
	})
	if err != nil {
		return "", err
	}
	text := base64.RawURLEncoding.EncodeToString(payload)
	return text + "." + k.sign(text), nil
}

// sign returns the signature of an encoded state.
func (k *stateKeeper) sign(text string) string {
	mac := hmac.New(sha256.New, k.key)
	mac.Write([]byte(text))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// verify checks and decodes the state of a request. Its errors follow the word requestState.
func (k *stateKeeper) verify(call []byte, state string) (*dialogueState, error) {
	text, signature, _ := strings.Cut(state, ".")
	if !hmac.Equal([]byte(signature), []byte(k.sign(text))) {
		return nil, errors.New("was not issued by this server")
	}
	payload, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return nil, err
	}
	var s dialogueState
	if err := strictjson.Unmarshal(payload, &s); err != nil {
		return nil, err
	}
	if !hmac.Equal(call, s.Call) {
		return nil, errors.New("was issued for another call: method and params must be the same")
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return &s, k.check(&s)
}

// check returns an error if a state has expired or has been used. mu is held.
func (k *stateKeeper) check(s *dialogueState) error {
	if s.Expires <= max(time.Now().Unix(), k.floor) {
		return errors.New("has expired")
	}
	if _, used := k.used[s.ID]; used {
		return errors.New("has been used")
	}
	return nil
}

// use marks a state as used. It returns an error if the state has been used or has expired since
// verify.
func (k *stateKeeper) use(s *dialogueState) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := k.check(s); err != nil {
		return err
	}
	if len(k.used) >= maxUsedStates {
		now := time.Now()
		maps.DeleteFunc(k.used, func(_ string, expires int64) bool { return expires <= now.Unix() })
		if len(k.used) >= maxUsedStates {
			clear(k.used)
			k.floor = now.Add(stateLife).Unix() // covers all states issued so far
		}
	}
	k.used[s.ID] = s.Expires
	return nil
}

// restore forgets that a state has been used.
func (k *stateKeeper) restore(s *dialogueState) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.used, s.ID)
}
