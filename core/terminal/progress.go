package terminal

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// A Progress shows on a terminal what is being done and for how long. Anywhere else
// it shows nothing. Its methods may be called by several goroutines.
type Progress struct {
	out io.Writer // nil if nobody looks on

	mu   sync.Mutex
	stop chan struct{} // ends the step that is shown
	done chan struct{} // it has ended
}

// NewProgress shows on out what is being done, unless it is to be quiet.
func NewProgress(out io.Writer, quiet bool) *Progress {
	if quiet || !Watched(out) {
		return &Progress{}
	}
	return &Progress{out: out}
}

// Begin shows the next step.
func (p *Progress) Begin(what string) {
	if p.out == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.end()
	if os.Getenv("TERM") == "dumb" {
		fmt.Fprintf(p.out, "%s …\n", what)
		return
	}
	p.stop, p.done = make(chan struct{}), make(chan struct{})
	go p.show(what, p.stop, p.done)
}

// End takes the step away.
func (p *Progress) End() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.end()
}

func (p *Progress) end() {
	if p.stop == nil {
		return
	}
	close(p.stop)
	<-p.done
	p.stop = nil
}

func (p *Progress) show(what string, stop, done chan struct{}) {
	const eraseLine = "\r\x1b[K"
	defer close(done)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	begin := time.Now()
	for {
		fmt.Fprintf(p.out, "%s%s … %.1f s", eraseLine, what, time.Since(begin).Seconds())
		select {
		case <-stop:
			fmt.Fprint(p.out, eraseLine)
			return
		case <-tick.C:
		}
	}
}
