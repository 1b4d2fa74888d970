package main

import "fmt"

// A suite is what is measured over a transport, of whom, and what is wanted.
type suite struct {
	servers   []string // which are also the folders below servers
	steps     func() []step
	figures   []row
	latencies bool   // situations are measured
	many      string // how calls come to be in flight
	targets   []target
}

// suiteOf returns the suite of a transport.
func suiteOf(transport string) (suite, error) {
	switch transport {
	case "stdio":
		return suite{serverNames, steps, figures, true, "when pipelined", targets}, nil
	case "http":
		return suite{httpServerNames, httpSteps, httpFigures(), false, "of as many clients", httpTargets()}, nil
	}
	return suite{}, fmt.Errorf("-over must be stdio or http, got %q", transport)
}

// suite is the one that was asked for; that of stdio where nothing was.
func (o options) suite() suite {
	if s, err := suiteOf(o.over); err == nil {
		return s
	}
	s, _ := suiteOf("stdio") // which there is
	return s
}
