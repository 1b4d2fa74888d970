package web

import (
	"errors"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// piped returns a conn, and the other end of it.
func piped(t *testing.T) (*conn, net.Conn) {
	ours, theirs := net.Pipe()
	t.Cleanup(func() { ours.Close(); theirs.Close() })
	return newConn(ours), theirs
}

// reads returns what becomes of a read, and how long it took.
func reads(c *conn) (time.Duration, error) {
	begun := time.Now()
	_, err := c.Read(make([]byte, 1))
	return time.Since(begun), err
}

// A deadline counts from when it is set, whether or not somebody reads then.
func TestConnDeadline(t *testing.T) {
	for _, test := range []struct {
		name string
		set  func(c *conn) error
		want time.Duration
	}{
		{"before", func(c *conn) error { return c.SetReadDeadline(time.Now().Add(3 * time.Second)) }, 3 * time.Second},
		{"in the past", func(c *conn) error { return c.SetReadDeadline(time.Unix(1, 0)) }, 0},
		{"again", func(c *conn) error {
			return errors.Join(c.SetReadDeadline(time.Now().Add(time.Second)), c.SetReadDeadline(time.Now().Add(5*time.Second)))
		}, 5 * time.Second},
		{"both", func(c *conn) error { return c.SetDeadline(time.Now().Add(2 * time.Second)) }, 2 * time.Second},
		{"meanwhile", func(c *conn) error {
			time.AfterFunc(time.Second, func() { c.SetReadDeadline(time.Now()) })
			return c.SetReadDeadline(time.Now().Add(time.Hour))
		}, time.Second},
		{"long ago", func(c *conn) error {
			defer time.Sleep(2 * time.Second)
			return c.SetReadDeadline(time.Now().Add(3 * time.Second))
		}, time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, _ := piped(t)
				if err := test.set(c); err != nil {
					t.Fatal(err)
				}
				if took, err := reads(c); !errors.Is(err, os.ErrDeadlineExceeded) || took != test.want {
					t.Errorf("reading gives %v after %v, want the deadline after %v", err, took, test.want)
				}
			})
		})
	}
}

// What has been cut off can be read again once there is no deadline, and its end is seen.
func TestConnNoDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, peer := piped(t)
		if err := c.SetReadDeadline(time.Now()); err != nil {
			t.Fatal(err)
		}
		if _, err := reads(c); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("reading gives %v", err)
		}
		if err := c.SetReadDeadline(time.Time{}); err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Hour, func() { peer.Write([]byte("x")) })
		if took, err := reads(c); err != nil || took != time.Hour {
			t.Errorf("reading gives %v after %v", err, took)
		}
		if err := c.CloseWrite(); err != nil { // a pipe has no half
			t.Error(err)
		}
		c.Close()
		if err := c.SetReadDeadline(time.Now()); err != nil {
			t.Error(err)
		}
		if _, err := reads(c); err == nil {
			t.Error("what is closed can be read")
		}
	})
}
