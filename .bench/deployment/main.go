// Deployment runs a whole deployment under load, and breaks parts of it: HAProxy, four server
// processes of a project, and PostgreSQL. Clients of four SDKs call through HAProxy, in both
// protocol eras. Meanwhile servers are killed and restarted, and the database is restarted. No
// acknowledged command may be lost or executed twice, workers must handle every event once, and
// every client must be able to continue. With -rolling, servers are only restarted with SIGTERM,
// and no request may fail, except that sessions end.
//
// .ci/deployment builds the project, starts PostgreSQL, and runs it:
//
//	.ci/deployment -time 2m
//
// It requires Linux and HAProxy. Run it with -help for its flags.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// An options holds the values of the flags.
type options struct {
	program string        // the server
	proxy   string        // configuration of HAProxy
	bridge  string        // script for the clients of the TypeScript SDK; may be empty
	time    time.Duration // with faults
	calm    time.Duration // before the faults
	kill    time.Duration // mean time between kills
	servers int
	writers int // for each client and era
	readers int // the same, for clients that follow the log
	noKeys  bool
	rolling int    // number of restarts, instead of faults
	reading string // server that reads a new version and writes the old one; may be empty
	writing string // server that writes the new version
	rollout bool   // replace the servers by these builds and back, instead of faults
	seed    uint64

	database string // URL
	restart  string // program that restarts the database
}

// run returns the exit code: 0 for success, 1 for failure, 2 for a usage error.
func run(ctx context.Context, args []string, out, errOut io.Writer) int {
	o, err := parseOptions(args, errOut)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		return 2
	}
	then := fmt.Sprintf("%v with a kill every %v", o.time, o.kill)
	if o.rolling > 0 {
		then = fmt.Sprintf("%d rolling restarts", o.rolling)
	}
	fmt.Fprintf(errOut, "%d clients, %v and then %s, seed %d\n", len(kinds(o.bridge))*(o.writers+o.readers), o.calm, then, o.seed)
	r, err := deploy(ctx, o, errOut)
	if err != nil {
		fmt.Fprintln(errOut, "deployment:", err)
		return 1
	}
	r.write(out)
	if len(r.faults) > 0 {
		for _, fault := range r.faults {
			fmt.Fprintln(errOut, "deployment:", fault)
		}
		return 1
	}
	return 0
}

// parseOptions parses the flags. It writes errors to errOut.
func parseOptions(args []string, errOut io.Writer) (options, error) {
	o := options{database: os.Getenv("PETROCK_POSTGRES"), restart: os.Getenv("PETROCK_POSTGRES_RESTART")}
	flags := flag.NewFlagSet("deployment", flag.ContinueOnError)
	flags.SetOutput(errOut)
	flags.StringVar(&o.program, "program", "", "server of the project (required)")
	flags.StringVar(&o.proxy, "haproxy", "", "configuration of HAProxy (required)")
	flags.StringVar(&o.bridge, "bridge", "", "bridge.mjs, for clients of the TypeScript SDK (default: none)")
	flags.DurationVar(&o.time, "time", 30*time.Second, "duration with faults; from 1m on, a server is also suspended once")
	flags.DurationVar(&o.calm, "calm", 5*time.Second, "duration before the faults, in which no call may fail")
	flags.DurationVar(&o.kill, "kill", 4*time.Second, "mean time between two kills of a server; 0 for no faults at all")
	flags.IntVar(&o.writers, "writers", 2, "number of clients that execute commands, for each SDK and era")
	flags.IntVar(&o.readers, "readers", 1, "number of clients that subscribe to the log and read it, for each SDK and era")
	flags.IntVar(&o.rolling, "rolling", 0, "restart the servers one after another, `N` times, instead of any faults; no call may fail, but sessions may end")
	flags.BoolVar(&o.rollout, "rollout", false, "deploy a new field, go back and deploy it again, instead of any faults; no call may fail, but sessions may end")
	flags.StringVar(&o.reading, "reading", "", "with -rollout: server that reads the new version and writes the old one")
	flags.StringVar(&o.writing, "writing", "", "with -rollout: server that writes the new version")
	flags.IntVar(&o.servers, "servers", maxServers, "number of servers, from 1 to 4")
	flags.BoolVar(&o.noKeys, "no-keys", false, "send no idempotency keys; only with -kill 0")
	flags.Uint64Var(&o.seed, "seed", uint64(time.Now().UnixNano()%1e9), "seed of random choices; the default differs each time")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	var err error
	switch {
	case flags.NArg() > 0:
		err = fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case o.program == "" || o.proxy == "" || o.database == "" || o.restart == "":
		err = errors.New("-program, -haproxy, PETROCK_POSTGRES and PETROCK_POSTGRES_RESTART are required; run .ci/deployment, which sets them")
	case o.time < time.Second || o.calm < time.Second:
		err = errors.New("-time and -calm must be at least 1s")
	case o.rolling < 0 || (o.rolling > 0 || o.rollout) && o.servers < 2:
		err = errors.New("-rolling must be at least 0; -rolling and -rollout need -servers of at least 2")
	case o.rollout && (o.reading == "" || o.writing == ""):
		err = errors.New("-rollout needs -reading and -writing; run .ci/deployment, which sets them")
	case o.kill < 0 || o.writers < 1 || o.readers < 0:
		err = errors.New("-kill and -readers must be at least 0, and -writers at least 1")
	case o.servers < 1 || o.servers > maxServers:
		err = fmt.Errorf("-servers must be from 1 to %d, got %d", maxServers, o.servers)
	case o.noKeys && o.kill > 0:
		err = errors.New("-no-keys needs -kill 0: without keys, a retry executes a command twice")
	}
	if err != nil {
		fmt.Fprintf(errOut, "deployment: %v\nRun deployment -help for usage.\n", err)
	}
	return o, err
}
