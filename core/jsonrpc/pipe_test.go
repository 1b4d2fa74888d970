package jsonrpc

import (
	"errors"
	"io"
	"testing"
)

func TestPipe(t *testing.T) {
	a, b := Pipe()
	msg := []byte("1")
	if err := a.Send(msg); err != nil {
		t.Fatal(err)
	}
	msg[0] = 'x' // Send does not keep the slice
	if err := a.Send([]byte("2")); err != nil {
		t.Fatal(err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"1", "2"} {
		if got, err := b.Receive(); string(got) != want || err != nil {
			t.Errorf("got %q, %v; want %q and no error", got, err, want)
		}
	}
	if _, err := b.Receive(); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: got %v, want %v", err, io.EOF)
	}
	if err := b.Send(msg); !errors.Is(err, ErrClosed) {
		t.Errorf("sending to one who left: got %v, want %v", err, ErrClosed)
	}
	if err := a.Send(msg); !errors.Is(err, ErrClosed) {
		t.Errorf("sending after Close: got %v, want %v", err, ErrClosed)
	}
}
