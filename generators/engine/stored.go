package engine

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/petrock/petrock/core/plumbing/process"
	"github.com/petrock/petrock/core/plumbing/project"
	"github.com/petrock/petrock/generators/contract"
	"github.com/petrock/petrock/generators/derive"
	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/handover"
	"github.com/petrock/petrock/generators/trial"
)

// ServerDir is the folder of the last built server, which engines ask for stored events. It is in
// the project, so that the server uses the project's data: see project.Source.
const ServerDir = ".petrock/bin"

// storedTimeout is how long an operation waits for the data.
const storedTimeout = 2 * time.Second

// lookAtEvents asks the data that the project's server would use for the types of its events, once
// for each plan. It creates nothing there. It asks the last built server; if there is none, or it
// fails, build decides whether to build one.
func (e *Engine) lookAtEvents(ctx context.Context, p *plan, build bool) (*StoredEvents, error) {
	if p.stored != nil {
		return p.stored, nil
	}
	p.stored = &StoredEvents{}
	switch {
	case p.NoData:
		p.stored.Why = e.option("no_data") + " is set"
	case e.hasNoStore():
		p.stored.Looked = true
	case p.NoExec:
		p.stored.Why = "no code of the project is run"
	default:
		e.step("looking at stored events")
		var answer struct {
			Data  string
			Types []storedType
		}
		out, err := e.askServer(ctx, build, "log", "types", "--json")
		switch jsonErr := json.Unmarshal(out, &answer); {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			p.stored.Why = err.Error()
		case jsonErr != nil:
			p.stored.Why = fmt.Sprintf("read its answer: %v", jsonErr)
		default:
			p.stored.Looked, p.stored.Where, p.stored.types = true, answer.Data, answer.Types
		}
	}
	return p.stored, nil
}

// hasNoStore reports whether the server would use a data folder that has no event log. Only the
// server knows how to ask a database.
func (e *Engine) hasNoStore() bool {
	dir, _, err := project.LookupSetting(e.project.Name, "data")
	if err != nil || strings.Contains(dir, "://") {
		return false
	}
	if dir = cmp.Or(dir, "data"); !filepath.IsAbs(dir) {
		dir = filepath.Join(e.project.Root, dir)
	}
	found, err := filepath.Glob(filepath.Join(dir, "log.db*"))
	return err == nil && len(found) == 0
}

var errNotBuilt = errors.New("the server was not built yet")

// askServer runs a command of the last built server. If there is none, or it fails, build makes
// askServer build one from the source on disk and run it instead.
func (e *Engine) askServer(ctx context.Context, build bool, args ...string) ([]byte, error) {
	server := filepath.Join(e.project.Root, filepath.FromSlash(ServerDir), e.project.Name)
	if runtime.GOOS == "windows" {
		server += ".exe"
	}
	err := errNotBuilt
	if _, statErr := e.root.Stat(path.Join(ServerDir, filepath.Base(server))); statErr == nil {
		var out []byte
		if out, err = e.runServer(ctx, server, args); err == nil || errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
			return out, err
		}
	}
	if !build {
		return nil, err
	}
	e.step("building the server to look at stored events")
	if server, err = e.BuildServer(ctx); err != nil {
		return nil, err
	}
	return e.runServer(ctx, server, args)
}

// BuildServer compiles the project's server and returns its path, which is in [ServerDir]. If it
// does not compile, the error is a [*handover.UnavailableError].
func (e *Engine) BuildServer(ctx context.Context) (string, error) {
	err := e.root.MkdirAll(ServerDir, 0o755)
	if err == nil {
		_, err = e.root.Stat(ServerDir) // fails for a link out of the project
	}
	if err != nil {
		return "", fmt.Errorf("create folder %s: %w; remove the file or link at this path", ServerDir, err)
	}
	return handover.BuildIn(ctx, e.project.Root, path.Join("cmd", e.project.Name), filepath.Join(e.project.Root, filepath.FromSlash(ServerDir)))
}

// runServer runs a command of the built server, with the time limit for looking at stored events.
func (e *Engine) runServer(ctx context.Context, server string, args []string) ([]byte, error) {
	limited, cancel := context.WithTimeout(ctx, storedTimeout)
	defer cancel()
	out, errOut, err := process.Run(limited, process.RunOptions{Dir: e.project.Root, Group: true}, server, args...)
	name := e.project.Name + " " + strings.Join(args, " ")
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case limited.Err() != nil:
		return nil, fmt.Errorf("%s did not answer within %s: %w", name, storedTimeout, limited.Err())
	case err != nil:
		reason, _, _ := strings.Cut(strings.TrimSpace(string(errOut)), "\n")
		return nil, fmt.Errorf("%s: %s", name, cmp.Or(strings.TrimPrefix(reason, "error: "), err.Error()))
	}
	return out, nil
}

// decodeStored decodes stored events of changed commands with the planned types, in the program
// that runs examples, and refuses the plan if one of them cannot be decoded.
func (e *Engine) decodeStored(ctx context.Context, c *verified) error {
	if len(c.decode) == 0 {
		return nil
	}
	stored := c.result.Stored
	var broken []brokenCommand
	byDir := map[string][]storedType{}
	for _, t := range c.decode {
		if dir := c.readerOf(t.Type); dir != "" {
			byDir[dir] = append(byDir[dir], t)
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(byDir)) {
		sample, err := e.sampleEvents(ctx, byDir[dir])
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			stored.Looked, stored.Why = false, err.Error()
			return nil
		}
		stored.decoded += bytes.Count(sample, []byte("\n"))
		found, err := e.decodeWith(ctx, c, dir, sample)
		if err != nil {
			return err
		}
		broken = append(broken, found...)
	}
	return e.refuseBroken(&c.plan, broken)
}

// readerOf returns the folder of the feature that reads events of a type after a plan.
func (p *plan) readerOf(eventType string) string {
	for _, pkg := range p.now.packages {
		if slices.ContainsFunc(pkg.Components, func(c derive.Component) bool { return c.EventType == eventType }) {
			return pkg.Dir
		}
	}
	if feature, _, ok := strings.Cut(p.now.mapped[eventType], "."); ok {
		return path.Join(derive.Features, feature)
	}
	return ""
}

// sampleEvents returns up to 1,000 stored events of each type, one a line.
func (e *Engine) sampleEvents(ctx context.Context, types []storedType) ([]byte, error) {
	var all []byte
	for _, t := range types {
		out, err := e.askServer(ctx, true, "log", "sample", t.Type, "--version", strconv.Itoa(t.Version), "--limit", "1000")
		if err != nil {
			return nil, err
		}
		all = append(all, out...)
	}
	return all, nil
}

// decodeWith decodes events with the planned code of a feature. It returns the commands of those
// that cannot be decoded.
func (e *Engine) decodeWith(ctx context.Context, c *verified, dir string, events []byte) (broken []brokenCommand, err error) {
	const test = "TestPetrockStoredEvents"
	planned := maps.Clone(c.texts)
	planned[path.Join(dir, "petrock_stored_events_test.go")] = fmt.Appendf(nil, `package %[1]s_test

import (
	"testing"

	%[2]q
	%[3]q
)

func %[4]s(t *testing.T) { apptest.CheckStored(t, %[5]s, %[1]s.Feature()) }
`, path.Base(dir), e.deriver.Core+"/app/apptest", e.checker.ImportPath(dir), test, gen.RawString(string(events)))
	e.step("decoding stored events")
	tested, summary, err := e.runTests(ctx, c.after, planned, []string{dir}, trial.Selection{Run: "^" + test + "$", Examples: trial.Examples{Dir: dir, Test: test}}, e.Limits)
	if err != nil {
		return nil, err
	}
	report := summary.Examples
	if report == nil {
		return nil, &Refusal{cause: causeCompile, Reason: wouldNotCompile, Diagnostics: tested.Diagnostics, Remedy: c.compileRemedy(tested.Diagnostics)}
	}
	if report.Passed {
		return nil, nil
	}
	for _, failed := range report.Cases { // one of each type, named after it
		isType := func(t storedType) bool { return strings.ReplaceAll(t.Type, "_", " ") == failed.Name }
		if i := slices.IndexFunc(c.decode, isType); i >= 0 {
			b := brokenCommand{command: c.decode[i].Type, unreadable: strings.Join(failed.Messages, "\n")}
			if was, isOnDisk := c.was.Commands[b.command]; isOnDisk { // what to change instead of undoing
				b.changes = was.Versions[was.Version].Changes(c.now.Commands[b.command].Versions[was.Version])
			}
			broken = append(broken, b)
		}
	}
	if len(broken) == 0 {
		return nil, c.trialRefusal(report)
	}
	return broken, nil
}

// committedContract returns the contract of the last commit, which is empty if no commit has one.
// known is false without git, and outside of a repository.
func (e *Engine) committedContract(ctx context.Context) (committed *contract.Contract, known bool) {
	git := func(args ...string) ([]byte, error) {
		env := append(os.Environ(), "GIT_NO_LAZY_FETCH=1", "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0")
		out, _, err := process.Run(ctx, process.RunOptions{Dir: e.project.Root, Env: env}, "git", args...)
		return out, err
	}
	text, err := git("cat-file", "blob", "HEAD:./"+contract.File) // runs no program that the repository's configuration names
	if err != nil {
		_, err = git("rev-parse", "--git-dir")
		return contract.New(), err == nil
	}
	committed, err = contract.Parse(text)
	return committed, err == nil
}
