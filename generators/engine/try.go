package engine

import (
	"cmp"
	"context"
	"regexp"
	"strconv"
	"strings"

	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/trial"
	"github.com/petrock/petrock/generators/typecheck"
)

// try builds and runs, over the planned files, what shows that they work. What does not is refused. The
// result is nil if there was nothing to run.
func (e *Engine) try(ctx context.Context, p *plan, o Options) (*Trial, error) {
	options := trial.Options{Root: e.project.Root, Flags: e.system.Flags, Planned: p.texts, Step: e.step}
	if p.trial.Program != "" {
		found, err := trial.Build(ctx, options, p.trial.Program)
		if err != nil {
			return nil, err
		}
		if len(found) > 0 {
			return nil, &Refusal{Reason: p.trial.Program + " would not build:", Diagnostics: around(found, p.texts), WayOut: "Nothing was changed."}
		}
	}
	if p.trial.Test == "" {
		return nil, nil
	}
	if p.applying != nil && p.applying.Trial != nil && p.applying.Trial.Ran {
		return p.applying.Trial, nil
	}
	if o.NoExec {
		return &Trial{Passed: []string{}}, nil
	}
	report, err := trial.Test(ctx, options, p.dir, p.trial.Test, e.Limits)
	if err != nil {
		return nil, err
	}
	if !report.Passed {
		return nil, p.failed(report)
	}
	tried := &Trial{Ran: true, Passed: []string{}, Printed: report.Printed, Confined: report.Confined}
	for _, c := range report.Cases {
		tried.Passed = append(tried.Passed, p.example(c).Name)
	}
	return tried, nil
}

// failed says what came of examples that did not pass.
func (p *plan) failed(report *trial.Report) *Refusal {
	refusal := &Refusal{Diagnostics: around(report.Diagnostics, p.texts), Printed: cut(report.Printed, report.Ended != ""), WayOut: "Nothing was changed. Mend the body or the example."}
	if len(report.Diagnostics) > 0 {
		refusal.Reason = "it would not build:"
		return refusal
	}
	refusal.Reason = "something else comes of its examples than they say:"
	if p.trial.Examples == nil {
		refusal.Reason = "its test does not pass:"
	}
	for _, c := range report.Cases {
		if c.Passed {
			continue
		}
		said := strings.Join(c.Messages, "\n")
		if said == "" {
			said = report.Ended
		}
		if lines := p.panicked(said); lines != "" {
			said += "\n" + lines
		}
		refusal.Failures = append(refusal.Failures, Failure{p.example(c), said})
		if report.Confined && strings.Contains(said, "permission denied") {
			refusal.WayOut = "Nothing was changed. Examples may write to the folder that they run in, and to temporary folders, alone."
		}
	}
	if left := len(p.trial.Examples) - len(report.Cases); left > 0 && report.Ended != "" {
		refusal.WayOut += " The examples behind it were not run."
	}
	if len(refusal.Failures) == 0 {
		refusal.Reason = cmp.Or(report.Ended, "its test does not pass")
	}
	return refusal
}

// panicked is the lines around where a panic was, if what was said of it names a place in a planned file.
func (p *plan) panicked(said string) string {
	found := regexp.MustCompile(`it panicked: .*\(([^()]+):(\d+)\)`).FindStringSubmatch(said)
	if found == nil {
		return ""
	}
	line, _ := strconv.Atoi(found[2])
	return typecheck.LinesAround(string(p.texts[found[1]]), line)
}

// cut shortens what was printed to what is worth reading: of a crash, that is why, and where it was in
// the goroutine that it came from.
func cut(printed string, crashed bool) string {
	const most = 2000
	if crashed {
		parts := strings.SplitN(printed, "\n\n", 3)
		if len(parts) > 1 && strings.Contains(parts[0], "panic: ") {
			printed = parts[0] + "\n" + parts[1]
		} else {
			printed = parts[0]
		}
	}
	if len(printed) > most {
		printed = strings.ToValidUTF8(printed[:most], "") + " …"
	}
	return printed
}

// example is what a case of the test was made of. Tests have underscores in their names for spaces.
func (p *plan) example(c trial.Case) gen.Example {
	for _, e := range p.trial.Examples {
		if strings.ReplaceAll(e.Name, "_", " ") == c.Name {
			return e
		}
	}
	return gen.Example{Name: c.Name}
}
