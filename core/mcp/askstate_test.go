package mcp

import (
	"context"
	"crypto/rand"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/petrock/petrock/core/auth"
	"github.com/petrock/petrock/core/plumbing/peer"
)

// stateCall returns the digest of a call of a tool with these params.
func stateCall(t testing.TB, params string) []byte {
	t.Helper()
	return stateCallOf(t, context.Background(), params)
}

func stateCallOf(t testing.TB, ctx context.Context, params string) []byte {
	t.Helper()
	req := new(peer.Request)
	req.Parse([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + params + `}`))
	digest, err := callDigest(&Call{ctx: ctx, Method: "tools/call", req: req})
	if err != nil {
		t.Fatal(err)
	}
	return digest
}

// A state is used once. If too many have been used, all states issued earlier count as expired.
func TestStateUsedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newStateKeeper(nil)
		c := stateCall(t, `{"name":"a"}`)
		give := func() *dialogueState {
			t.Helper()
			text, err := k.seal(c, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			state, err := k.verify(c, text)
			if err != nil {
				t.Fatal(err)
			}
			return state
		}
		first, waiting, last := give(), give(), give()
		if err := k.use(first); err != nil {
			t.Fatal(err)
		}
		if err := k.use(first); err == nil || err.Error() != "has been used" {
			t.Errorf(`the first, again, gives %v; want the error "has been used"`, err)
		}
		for len(k.used) < maxUsedStates {
			k.used[rand.Text()] = first.Expires
		}
		if err := k.use(last); err != nil {
			t.Errorf("the last gives %v", err)
		}
		for _, state := range []*dialogueState{first, waiting, last} {
			if err := k.use(state); err == nil {
				t.Error("a used state was accepted again")
			}
		}
		time.Sleep(time.Second)
		if err := k.use(give()); err != nil {
			t.Errorf("a new one gives %v", err)
		}
	})
}

// Large numbers that are equal as floating-point numbers are distinguished.
func TestStateDistinguishesNumbers(t *testing.T) {
	k := newStateKeeper(nil)
	state, err := k.seal(stateCall(t, `{"name":"delete","arguments":{"id":9007199254740993}}`), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.verify(stateCall(t, `{"name":"delete","arguments":{"id":9007199254740992}}`), state); err == nil {
		t.Error("a state for one id was taken for another")
	}
}

// A server refuses the state of another server, or of an earlier run.
func TestStateOfAnotherServer(t *testing.T) {
	c := stateCall(t, `{}`)
	state, err := newStateKeeper(nil).seal(c, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := newStateKeeper(nil).verify(c, state); err == nil {
		t.Error("the state was accepted")
	}
}

// Every change of a state is detected.
func FuzzState(f *testing.F) {
	k := newStateKeeper(nil)
	c := stateCall(f, `{"name":"a"}`)
	state, err := k.seal(c, []string{"q"}, nil)
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{"", ".", "a.b", "e30.", strings.ToUpper(state), "=", "\xff.\x00"} {
		f.Add(seed, 0)
	}
	f.Add("\n", len(state)-1)
	f.Add(state, len(state))
	f.Fuzz(func(t *testing.T, text string, keep int) {
		if keep > 0 && keep < len(state) {
			text = state[:keep] + text
		}
		if text == state {
			return
		}
		if _, err := k.verify(c, text); err == nil {
			t.Errorf("verify() accepts %q", text)
		}
	})
}

// A state expires stateLife after it was issued.
func TestStateLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newStateKeeper(nil)
		c := stateCall(t, `{}`)
		state, err := k.seal(c, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(stateLife)
		if _, err := k.verify(c, state); err == nil || err.Error() != "has expired" {
			t.Errorf(`after %v: %v; want the error "has expired"`, stateLife, err)
		}
	})
}

// An empty key is replaced by a random one.
func TestStateKeyEmpty(t *testing.T) {
	if k, other := newStateKeeper([]byte{}), newStateKeeper([]byte{}); k.sign("x") == other.sign("x") {
		t.Errorf("two servers without a key sign alike: %q", k.sign("x"))
	}
}

// A process with the same key accepts the state of another process, once, and only from the same
// caller.
func TestStateOfAnother(t *testing.T) {
	key := []byte("the key of both of them")
	maker, other := newStateKeeper(key), newStateKeeper(key)
	c := stateCall(t, `{"name":"x"}`)
	state, err := maker.seal(c, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	ann := stateCallOf(t, auth.With(context.Background(), &auth.Identity{Subject: "ann"}), `{"name":"x"}`)
	if _, err := other.verify(ann, state); err == nil {
		t.Error("Ann can use the state of an anonymous caller")
	}
	for _, k := range []*stateKeeper{other, maker} {
		opened, err := k.verify(c, state)
		if err != nil {
			t.Fatal(err)
		}
		if err := k.use(opened); err != nil {
			t.Error(err)
		}
		if _, err := k.verify(c, state); err == nil || err.Error() != "has been used" {
			t.Errorf(`again: %v; want the error "has been used"`, err)
		}
		k.restore(opened)
		if _, err := k.verify(c, state); err != nil {
			t.Errorf("verify(a restored state) = %v, want nil", err)
		}
		if err := k.use(opened); err != nil {
			t.Error(err)
		}
	}
}
