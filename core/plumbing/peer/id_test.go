package peer

import (
	"context"
	"testing"
	"testing/synctest"
)

func TestIDsAreEchoedByteForByte(t *testing.T) {
	for _, id := range []string{
		`1`, `0`, `-1`, `-0`, `"1"`, `""`, `" "`, `9007199254740993`, `12345678901234567890`, `-98765432109876543210`,
		`"\u0061"`, `"a\/b"`, `"\\\""`, `"\ud83d\ude00"`, `"😀"`, `"\ud800"`, `"\u2028"`, "\"\u2028\"", `"null"`,
	} {
		got := talk(t, Options{}, Dialect{}, `{"jsonrpc":"2.0","id": `+id+` ,"method":"m"}`)
		equal(t, got, id+` {}`)
		got = talk(t, Options{}, Dialect{}, `{"jsonrpc":"2.0","method":"no","id":`+id+`}`)
		equal(t, got, id+` error -32601`)
	}
}

func TestBadIDsAreRefusedWithoutOne(t *testing.T) {
	for _, id := range []string{`null`, `1.5`, `1.0`, `1e2`, `true`, `false`, `{}`, `{"id":1}`, `[1]`, `[]`} {
		line := `{"jsonrpc":"2.0","id":` + id + `,"method":"m"}`
		equal(t, talk(t, Options{}, Dialect{}, line), `- error -32600`)
		equal(t, talk(t, Options{}, Dialect{NullID: true}, line), `null error -32600`)
	}
}

func TestIDInUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		finish := make(chan struct{})
		p := newPeer(t, Options{Handle: func(_ context.Context, req *Request) (any, error) {
			if req.Method() == "slow" {
				req.Release()
				<-finish
			}
			return []string{req.Method()}, nil
		}})
		slow, fast := `{"jsonrpc":"2.0","id":"a","method":"slow"}`, `{"jsonrpc":"2.0","id":"\u0061","method":"fast"}`
		p.send(slow, fast)
		p.expect(`- error -32600`)
		p.send(`{"jsonrpc":"2.0","id":1,"method":"fast"}`)
		p.expect(`1 ["fast"]`)
		close(finish)
		p.expect(`"a" ["slow"]`)
		p.send(fast)
		p.expect(`"\u0061" ["fast"]`)
		p.end()
	})
}
