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
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/petrock/petrock/core/process"
	"github.com/petrock/petrock/core/project"
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

// A StoredEvents is the result of looking at the events that the project's server has stored.
type StoredEvents struct {
	Looked bool   `json:"looked"`           // Whether the data was read
	Why    string `json:"why,omitempty"`    // Why it was not
	Where  string `json:"where,omitempty"`  // The data folder or database
	Events int64  `json:"events,omitempty"` // Number of events of the commands that change

	types   []storedType
	decoded int // events that were decoded with the planned types
}

// A storedType is the stored events of one version of a command.
type storedType struct {
	Type    string `json:"type"`
	Version int    `json:"version"`
	Count   int64  `json:"count"`
	First   int64  `json:"first"` // sequence number of the first one
}

// String says in one line whether stored events were looked at.
func (s *StoredEvents) String() string {
	switch {
	case !s.Looked:
		return "Stored events were not looked at: " + s.Why + ". contract.json alone decided."
	case s.Events == 0:
		return "No events of the changed commands are stored."
	}
	text := fmt.Sprintf("Stored events of the changed commands: %d", s.Events)
	if s.decoded > 0 {
		text += fmt.Sprintf(", of which %d were decoded with the new types", s.decoded)
	}
	return text + "."
}

// of returns the stored events of a command, the oldest version first.
func (s *StoredEvents) of(command string) []storedType {
	return slices.DeleteFunc(slices.Clone(s.types), func(t storedType) bool { return t.Type != command })
}

// describe returns the number of stored events of a command and the first of them, or "".
func (s *StoredEvents) describe(command string) string {
	var events, first int64
	for _, t := range s.of(command) {
		if events += t.Count; first == 0 || t.First < first {
			first = t.First
		}
	}
	switch events {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("1 event is stored, event %d", first)
	}
	return fmt.Sprintf("%d events are stored, the first is event %d", events, first)
}

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
		err := e.askServer(ctx, build, func(ctx context.Context, server string) error { return e.readTypes(ctx, server, p.stored) })
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if p.stored.Looked = err == nil; err != nil {
			p.stored.Why = err.Error()
		}
	}
	return p.stored, nil
}

// readTypes asks a server for the types of its stored events.
func (e *Engine) readTypes(ctx context.Context, server string, into *StoredEvents) error {
	out, err := e.runServer(ctx, server, "log", "types", "--json")
	if err != nil {
		return err
	}
	var answer struct {
		Data  string
		Types []storedType
	}
	if err := json.Unmarshal(out, &answer); err != nil {
		return fmt.Errorf("read its answer: %w", err)
	}
	into.Where, into.types = answer.Data, answer.Types
	return nil
}

// hasNoStore reports whether the server would use a data folder that has no event log. Only the
// server knows how to ask a database.
func (e *Engine) hasNoStore() bool {
	dir, _, err := project.LookupSetting(e.project.Name, "data")
	if err != nil || strings.Contains(dir, "://") {
		return false
	}
	if dir == "" {
		dir = "data"
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(e.project.Root, dir)
	}
	found, err := filepath.Glob(filepath.Join(dir, "log.db*"))
	return err == nil && len(found) == 0
}

// askServer calls ask with the last built server. If there is none, or it cannot answer, build
// makes askServer build one from the source on disk and call ask again.
func (e *Engine) askServer(ctx context.Context, build bool, ask func(ctx context.Context, server string) error) error {
	server := filepath.Join(e.project.Root, filepath.FromSlash(ServerDir), e.project.Name)
	if runtime.GOOS == "windows" {
		server += ".exe"
	}
	_, err := e.root.Stat(path.Join(ServerDir, filepath.Base(server)))
	if err == nil {
		if err = ask(ctx, server); err == nil || errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
			return err
		}
	} else {
		err = errors.New("the server was not built yet")
	}
	if !build {
		return err
	}
	e.step("building the server to look at stored events")
	if err := e.root.MkdirAll(ServerDir, 0o755); err != nil {
		return fmt.Errorf("create %s: %w", ServerDir, err)
	}
	if server, err = handover.BuildIn(ctx, e.project.Root, path.Join("cmd", e.project.Name), filepath.Dir(server)); err != nil {
		return err
	}
	return ask(ctx, server)
}

// runServer runs a command of the built server, with the time limit for looking at stored events.
func (e *Engine) runServer(ctx context.Context, server string, args ...string) ([]byte, error) {
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

// lookAtChanged looks at the stored events if a plan changes commands. It notes as broken the
// commands whose events no type reads any more, and plans to decode those of changed types.
func (e *Engine) lookAtChanged(ctx context.Context, u *commandUpdate, recorded *contract.Contract) error {
	changed, isRecorded := u.changed(recorded)
	if len(changed) == 0 || u.Saved || u.contractOnly {
		return nil
	}
	stored, err := e.lookAtEvents(ctx, u.plan, isRecorded)
	if err != nil {
		return err
	}
	isSkipped := func(command string) bool {
		return slices.Contains(u.skips, command) || recorded.Commands[command].Skipped && !slices.Contains(u.Accept, command)
	}
	wasRead := func(t storedType) bool {
		return t.isRead(u.was, u.wasMapped, u.hadMap) || slices.Contains(u.Accept, t.Type)
	}
	mayMapChange := func(eventType string) bool { // the function, or the command that it returns
		feature, _, isMapped := strings.Cut(u.mapped[eventType], ".")
		return isMapped && slices.ContainsFunc(changed, func(c string) bool { return c == eventType || strings.HasPrefix(c, feature+"/") })
	}
	for _, t := range stored.types {
		if slices.Contains(changed, t.Type) {
			stored.Events += t.Count
		}
		command, exists := u.now[t.Type]
		switch isRead := t.isRead(u.now, u.mapped, u.hasMap); {
		case isRead && exists && slices.Contains(changed, t.Type), mayMapChange(t.Type):
			u.decode = append(u.decode, t)
		case isRead || isSkipped(t.Type) && !exists || !wasRead(t):
		case exists:
			u.breaks(t.Type, brokenCommand{isNewer: t.Version > command.Version, unreadable: fmt.Sprintf("version %d of its events is stored, and the source has version %d", t.Version, command.Version)})
		case u.complete:
			u.breaks(t.Type, brokenCommand{})
		}
	}
	return nil
}

// changed returns the commands whose types, or functions that map them, a plan adds, changes or
// removes. isRecorded reports whether the contract on disk has one of them.
func (u *commandUpdate) changed(recorded *contract.Contract) (changed []string, isRecorded bool) {
	all := map[string]bool{}
	for _, commands := range []map[string]contract.Command{u.was, u.now, recorded.Commands} {
		for command := range commands {
			isUndecided := u.now[command].Versions == nil && !recorded.Commands[command].IsGone()
			all[command] = isUndecided || !reflect.DeepEqual(u.was[command], u.now[command]) || u.wasMapped[command] != u.mapped[command]
		}
	}
	for _, command := range slices.Concat(u.Accept, u.skips) {
		all[command] = true
	}
	for _, command := range slices.Sorted(maps.Keys(all)) {
		if all[command] {
			changed = append(changed, command)
			_, known := recorded.Commands[command]
			isRecorded = isRecorded || known || u.was[command].Versions != nil
		}
	}
	return changed, isRecorded
}

// isRead reports whether events are read by a command or a mapping.
func (t storedType) isRead(commands map[string]contract.Command, mapped map[string]string, hasMap func(string) bool) bool {
	command, exists := commands[t.Type]
	if !exists {
		return mapped[t.Type] != ""
	}
	_, isKnown := command.Versions[t.Version]
	return isKnown || t.Version < command.Version && hasMap(t.Type)
}

// decodeStored decodes stored events of changed commands with the planned types, in the program
// that runs examples, and refuses the plan if one of them cannot be decoded.
func (e *Engine) decodeStored(ctx context.Context, c *verified) error {
	if len(c.decode) == 0 {
		return nil
	}
	events := *c.stored
	c.decoded = &events
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
			events.Looked, events.Why = false, err.Error()
			return nil
		}
		events.decoded += bytes.Count(sample, []byte("\n"))
		if err := e.decodeWith(ctx, c, dir, sample); err != nil {
			return err
		}
	}
	return e.refuseBroken(&c.plan, c.undecodable)
}

// readerOf returns the folder of the feature that reads events of a type after a plan.
func (p *plan) readerOf(eventType string) string {
	packages := p.shippedPackages()
	for _, pkg := range packages {
		if slices.ContainsFunc(pkg.Components, func(c derive.Component) bool { return c.EventType == eventType }) {
			return pkg.Dir
		}
	}
	if feature, _, ok := strings.Cut(derive.MappedTypes(packages)[eventType], "."); ok {
		return path.Join(derive.Features, feature)
	}
	return ""
}

// sampleEvents returns up to 1,000 stored events of each type, one a line.
func (e *Engine) sampleEvents(ctx context.Context, types []storedType) ([]byte, error) {
	var all []byte
	for _, t := range types {
		err := e.askServer(ctx, true, func(ctx context.Context, server string) error {
			out, err := e.runServer(ctx, server, "log", "sample", t.Type, "--version", strconv.Itoa(t.Version), "--limit", "1000")
			all = append(all, out...)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// decodeWith decodes events with the planned code of a feature. It notes the commands of those that
// cannot be decoded as broken.
func (e *Engine) decodeWith(ctx context.Context, c *verified, dir string, events []byte) error {
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
	options := trial.Options{Root: e.project.Root, Flags: e.system.Flags, Planned: planned, Step: e.step}
	e.step("decoding stored events")
	summary, err := trial.Packages(ctx, options, trial.Selection{
		Dirs: map[string]string{e.checker.ImportPath(dir): dir}, Run: "^" + test + "$", Examples: trial.Examples{Dir: dir, Test: test},
	}, e.Limits)
	if err != nil {
		return err
	}
	if summary.Examples == nil {
		return &Refusal{cause: causeCompile, Reason: wouldNotCompile, Diagnostics: summary.Diagnostics, Remedy: c.compileRemedy()}
	}
	report := summary.Examples
	if report.Passed {
		return nil
	}
	found := false
	for _, failed := range report.Cases {
		for _, message := range failed.Messages {
			command, why, ok := strings.Cut(message, ": ")
			if ok && slices.ContainsFunc(c.decode, func(t storedType) bool { return t.Type == command }) {
				was, isOnDisk := c.was[command]
				found = true
				b := brokenCommand{command: command, unreadable: why, stored: c.stored.describe(command), onDisk: isOnDisk, mappedBy: derive.MappedTypes(c.shippedPackages())[command]}
				if now, err := derive.Contract(c.shippedPackages()); err == nil && isOnDisk { // what to change instead of undoing
					b.call = e.changeCall(brokenCommand{command: command, changes: was.Versions[was.Version].Changes(now.Commands[command].Versions[was.Version])})
				}
				c.undecodable = append(c.undecodable, b)
			}
		}
	}
	if !found {
		return c.trialRefusal(report)
	}
	return nil
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
