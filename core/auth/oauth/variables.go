package oauth

import (
	"os"
	"strings"

	"github.com/petrock/petrock/core/project"
	"github.com/petrock/petrock/core/terminal"
)

// variable returns the environment variable for a flag.
func (o *OAuth) variable(what string) string { return project.Variable(o.program, "oauth_"+what) }

// text returns the value of a flag, or of its environment variable.
func (o *OAuth) text(flag, what string) string {
	if flag != "" {
		return flag
	}
	return strings.TrimSpace(os.Getenv(o.variable(what)))
}

// list returns the values of a flag, or of its environment variable, separated by spaces or commas. It is nil if neither is set. It is an
// error if one is set and empty, as for keys: the operator expects a check.
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
