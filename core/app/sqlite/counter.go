package sqlite

import (
	"encoding/binary"
	"errors"
	"io"
	"os"
	"sync"
)

// A counter tells processes whether one of them has written, at a tenth of what it costs to ask SQLite. It is a number in a file
// beside the store, of which who has passed the turnstile makes an odd one before a commit, and the next even one
// behind it. A process that dies in between leaves it odd: until somebody writes again, nobody can tell.
type counter struct {
	mu   sync.Mutex // held while this process commits
	file *os.File   // nil if there is no turnstile
	own  int64      // by how much this store has moved it
	odd  int64      // how often it was found to be odd
	was  int64      // before the commit that goes on
}

// counterAt is where in the file the number is. On Windows, nobody reads the first byte of a file that is locked.
const counterAt = 8

// open opens the file of the number, which the turnstile has made.
func (c *counter) open(path string) (err error) {
	c.file, err = os.OpenFile(path, os.O_RDWR, 0)
	return err
}

// stamp differs from an earlier one if the number was moved in between by another store, or if nobody can tell.
func (c *counter) stamp() (int64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, err := c.read()
	if err != nil {
		return 0, err
	}
	if n%2 != 0 {
		c.odd++
		return -c.odd, nil
	}
	return n - c.own, nil
}

// begin says that something is about to be committed. Stamps of this store wait until end is called.
func (c *counter) begin() (err error) {
	c.mu.Lock()
	if c.was, err = c.read(); err == nil {
		err = c.write(c.was | 1)
	}
	if err != nil {
		c.mu.Unlock()
	}
	return err
}

// end says that it is committed, or is not. If that cannot be written down, the number stays odd, and nobody can tell.
func (c *counter) end() {
	next := c.was | 1
	if c.write(next+1) == nil {
		next++
	}
	c.own += next - c.was
	c.mu.Unlock()
}

func (c *counter) read() (int64, error) {
	var text [8]byte
	if _, err := c.file.ReadAt(text[:], counterAt); err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	return int64(binary.LittleEndian.Uint64(text[:])), nil
}

func (c *counter) write(n int64) error {
	var text [8]byte
	binary.LittleEndian.PutUint64(text[:], uint64(n))
	_, err := c.file.WriteAt(text[:], counterAt)
	return err
}

// close closes the file. It can be called twice.
func (c *counter) close() error {
	if c.file == nil {
		return nil
	}
	if err := c.file.Close(); !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}
