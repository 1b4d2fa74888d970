package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/petrock/petrock/core/terminal"
)

// A progress shows on a terminal what is being done and for how long. Anywhere else
// it shows nothing.
type progress struct {
	out  io.Writer     // nil if nobody looks on
	stop chan struct{} // ends the step that is shown
	done chan struct{} // it has ended
}

func newProgress(out io.Writer, quiet bool) *progress {
	if quiet || !terminal.Watched(out) {
		return &progress{}
	}
	return &progress{out: out}
}

// begin shows the next step.
func (p *progress) begin(what string) {
	if p.out == nil {
		return
	}
	p.end()
	if os.Getenv("TERM") == "dumb" {
		fmt.Fprintf(p.out, "%s …\n", what)
		return
	}
	p.stop, p.done = make(chan struct{}), make(chan struct{})
	go p.show(what, p.stop, p.done)
}

// end takes the step away.
func (p *progress) end() {
	if p.stop == nil {
		return
	}
	close(p.stop)
	<-p.done
	p.stop = nil
}

func (p *progress) show(what string, stop, done chan struct{}) {
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
