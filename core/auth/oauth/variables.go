package oauth

import (
	"os"
	"strings"

	"github.com/petrock/petrock/core/project"
	"github.com/petrock/petrock/core/terminal"
)

// variable is the environment variable that says what a flag says.
func (o *OAuth) variable(what string) string { return project.Variable(o.program, "oauth_"+what) }

// text is what a flag says, or else the environment.
func (o *OAuth) text(flag, what string) string {
	if flag != "" {
		return flag
	}
	return strings.TrimSpace(os.Getenv(o.variable(what)))
}

// list is what a flag says, or else the environment: several with spaces or commas between them. It is nil if neither is there. One
// that is there and says nothing is refused, as with keys: somebody thinks that it asks callers for something.
func (o *OAuth) list(flag []string, what string) (all []string, err error) {
	given, name := strings.Join(flag, " "), "--oauth-"+what
	if len(flag) == 0 {
		name = o.variable(what)
		var ok bool
		if given, ok = os.LookupEnv(name); !ok {
			return nil, nil
		}
	}
	for text := range strings.FieldsFuncSeq(given, func(r rune) bool { return r == ' ' || r == ',' || r == '\t' || r == '\n' }) {
		all = append(all, text)
	}
	if all == nil {
		return nil, terminal.Usagef("%s is there and says nothing; say it, or leave %[1]s out", name)
	}
	return all, nil
}
