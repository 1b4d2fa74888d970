package servers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/petrock/petrock/cmd/petrock/internal/mcpconfig"
	"github.com/petrock/petrock/cmd/petrock/internal/userfile"
	"github.com/petrock/petrock/core/plumbing/mcpcli"
	"github.com/petrock/petrock/core/plumbing/terminal"
	"github.com/petrock/petrock/core/strictjson"
)

// checkConsent returns nil if petrock may start or call a server. For a program in a project's
// file, or a URL that receives values of variables, it asks the user once for each definition.
// Without a terminal, the command line must name the server or have --yes.
func (t *target) checkConsent(ctx context.Context, s *mcpconfig.Server, named bool) error {
	if s.File == "" || s.Trusted || s.Err != nil || s.Kind != mcpconfig.Stdio && !s.HasVars || t.yes || isAllowed(s.Definition) {
		return nil
	}
	asker := mcpcli.NewAsker(t.env, &terminal.Progress{})
	switch {
	case asker == nil && named:
		return nil
	case asker == nil:
		command := t.env.Program + " " + t.cmd.Name() + " " + quoteWord(s.Name)
		if slices.Contains([]string{"call", "read", "prompt"}, t.cmd.Name()) {
			command += " …"
		}
		return terminal.Usagef("%s defines the server %s (%s), which %s; run %s, or pass --yes", s.File, s.Name, describe(s), consentState(s), command)
	}
	answer, err := asker.Line(ctx, question(s), "no")
	if err != nil && ctx.Err() != nil {
		return mcpcli.ErrInterrupted
	}
	if answer = strings.ToLower(answer); answer != "y" && answer != "yes" {
		return fmt.Errorf("server %s not started, because you did not allow it", s.Name)
	}
	if err := allow(s); err != nil {
		fmt.Fprintf(t.env.Err, "petrock: cannot remember the answer: %s\n", terminal.Plain(err.Error()))
	}
	return nil
}

// question returns the question whether to start a server. It shows the definition of the server,
// with long values shortened, but no values of variables.
func question(s *mcpconfig.Server) string {
	text := fmt.Sprintf("%s defines the server %s, which %s:\n  %s\n", s.File, quoteWord(s.Name), consentState(s), describe(s))
	more := ""
	for _, name := range slices.Sorted(maps.Keys(s.UnexpandedPairs)) {
		more += "    " + quoteWord(name) + ": " + clipValue(s.UnexpandedPairs[name]) + "\n"
	}
	if s.Kind == mcpconfig.Stdio {
		text += "  working directory: " + quoteWord(s.Dir) + "\n"
		if more != "" {
			text += "  environment variables:\n" + more
		}
		return text + "Start it, now and in the future? Answer yes or no"
	}
	if more != "" {
		text += "  headers:\n" + more
	}
	sent := "a request"
	if names := variables(s); len(names) > 0 {
		sent = "the values of the variables " + strings.Join(names, ", ")
	}
	return text + "Send it " + sent + ", now and in the future? Answer yes or no"
}

// consentState returns the reason why petrock asks about a server.
func consentState(s *mcpconfig.Server) string {
	if wasAllowed(s) {
		return "has changed since you allowed it"
	}
	return "you have not allowed yet"
}

// variableReference matches a variable in a configuration file, such as $NAME, ${NAME} or
// ${env:NAME}.
var variableReference = regexp.MustCompile(`\$\{((?:env|input):[^}]*)\}|\$\{?([A-Za-z_][A-Za-z0-9_]*)`)

// variables returns the names of the variables in a server's URL and headers.
func variables(s *mcpconfig.Server) []string {
	var names []string
	for _, text := range slices.AppendSeq(slices.Clone(s.Unexpanded), maps.Values(s.UnexpandedPairs)) {
		for _, found := range variableReference.FindAllStringSubmatch(text, -1) {
			names = append(names, quoteWord(found[1]+found[2]))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// describe returns the command and its arguments, or the URL, with variables unexpanded.
func describe(s *mcpconfig.Server) string {
	var words []string
	for _, word := range s.Unexpanded {
		words = append(words, quoteWord(word))
	}
	return strings.Join(words, " ")
}

// quoteWord returns a word on one line, in quotes if necessary.
func quoteWord(word string) string {
	if word == "" || strings.ContainsAny(word, " \t\r\n'\"\\") {
		return strconv.Quote(word)
	}
	return word
}

// maxValue is the number of bytes that a question shows of the value of an environment variable or
// a header.
const maxValue = 400

// clipValue returns a value on one line. It shortens a long value and adds its length.
func clipValue(value string) string {
	text := quoteWord(strictjson.Clip(value, maxValue))
	if len(value) > maxValue {
		text += fmt.Sprintf(" (%d bytes)", len(value))
	}
	return text
}

// consentFile returns the file that exists if a server is allowed. It returns "" if the user's
// configuration folder is unknown.
func consentFile(definition string) string {
	dir, err := os.UserConfigDir()
	if err != nil || definition == "" {
		return ""
	}
	return filepath.Join(dir, "petrock", "allowed", definition)
}

const maxConsentFile = 4 << 20 // bytes

func isAllowed(definition string) bool {
	_, err := userfile.Read(consentFile(definition), maxConsentFile)
	return err == nil
}

// wasAllowed reports whether any definition of the server in the same file was allowed.
func wasAllowed(s *mcpconfig.Server) bool {
	dir := filepath.Dir(consentFile("any"))
	answers, _ := os.ReadDir(dir)
	return slices.ContainsFunc(answers, func(answer os.DirEntry) bool {
		text, err := userfile.Read(filepath.Join(dir, answer.Name()), maxConsentFile)
		return err == nil && strings.HasPrefix(string(text), consentTitle(s))
	})
}

// consentTitle returns the first line of a consent file.
func consentTitle(s *mcpconfig.Server) string { return terminal.Plain(s.Name + " of " + s.File + "\n") }

// AllowProject remembers that the servers of a new project are allowed, because petrock has just
// written its configuration files for this user. As with an answer, a changed definition or another
// folder is not allowed.
func AllowProject(dir string) error {
	folders := []string{dir}
	if resolved, err := filepath.EvalSymlinks(dir); err == nil && resolved != dir {
		folders = append(folders, resolved)
	}
	for _, folder := range folders {
		config, err := mcpconfig.Find(folder, mcpconfig.Options{})
		if err != nil {
			return err
		}
		for _, file := range config.Files { // each may define a server differently
			one, err := mcpconfig.Read(file, mcpconfig.Options{})
			if err != nil {
				return err
			}
			for _, s := range one.Servers() {
				if err := allow(s); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// allow remembers that a server is allowed.
func allow(s *mcpconfig.Server) error {
	file := consentFile(s.Definition)
	if file == "" {
		return errors.New("the user's configuration folder is unknown")
	}
	return userfile.Write(file, []byte(consentTitle(s)+terminal.Plain(describe(s)+"\n")))
}
