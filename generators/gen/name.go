package gen

import (
	"errors"
	"fmt"
	"go/build"
	"go/token"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/petrock/petrock/core/plumbing/project"
)

// A Name is a component's name, split into words. Names made of the same words are equal. The zero
// Name has no words; [ParseName] never returns it without an error.
//
//	name, err := gen.ParseName("sendHTTPRequest")
//	name.Wire()       // send_http_request
//	name.Go()         // SendHTTPRequest
//	name.File("tool") // send_http_request.go
//	name.Human()      // send HTTP request
//
// All of them are plain ASCII and safe in source code.
type Name struct {
	wire  string // the words in lower case, joined by _
	ident string
	human string
}

// Wire returns the name that clients see: send_mail. [ParseName] returns the same name for it.
func (n Name) Wire() string { return n.wire }

// Go returns an exported identifier: SendMail. Initialisms such as ID and URL are in upper case, in
// the name of a component only those that [WireName] can still split into the same words.
func (n Name) Go() string { return n.ident }

// IsExact reports whether [WireName] of the Go name is the wire name. If not, as for a_b_c and ABC,
// the component needs a directive with its name.
func (n Name) IsExact() bool { return WireName(n.ident) == n.wire }

// Human returns the name in plain words, for descriptions: "send mail", "get user ID".
func (n Name) Human() string { return n.human }

// Capitalize returns the text with its first letter in upper case.
func Capitalize(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	if size == 0 {
		return ""
	}
	return string(unicode.ToUpper(first)) + text[size:]
}

// File returns the file name of a component: send_mail.go. The kind, such as tool, is appended to
// names that are special to Go, petrock or Windows: send_test is in send_test_tool.go. Different
// names have different files.
func (n Name) File(kind string) string {
	if isSpecial("x_" + kind) {
		kind = "component"
	}
	bare := n.wire // the files of send_test and send_test_tool must differ
	for ending := "_" + kind; strings.HasSuffix(bare, ending); {
		bare = strings.TrimSuffix(bare, ending)
	}
	if isSpecial(bare) {
		return n.wire + "_" + kind + ".go"
	}
	return n.wire + ".go"
}

// isSpecial reports whether a file NAME.go is special: a test, a derived file, a device name of
// Windows, or constrained by a GOOS or GOARCH suffix (goodOSArchFile in go/build).
func isSpecial(name string) bool {
	if !strings.Contains(name, "_") {
		return project.IsDevice(name)
	}
	return strings.HasSuffix(name, "_gen") || HasBuildSuffix(name)
}

// HasBuildSuffix reports whether the name of a Go file constrains when it is built: x_windows.go,
// x_arm64.go, x_test.go.
func HasBuildSuffix(file string) bool {
	name := strings.TrimSuffix(file, ".go")
	nowhere := build.Context{OpenFile: func(string) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader("package p\n")), nil
	}}
	built, err := nowhere.MatchFile("", name+".go")
	return strings.HasSuffix(name, "_test") || !built && err == nil
}

var separatedWords = regexp.MustCompile(`^[^_-]+([_-][^_-]+)*$`)

// Maximum lengths of names, as typed.
const (
	maxTypedName = 100 // of a component; clients allow fewer, see [MaxNameLength]
	maxFieldName = 64
)

// ParseName parses the name of a component. send_mail, send-mail, sendMail and SendMail are the
// same name. It starts with an ASCII letter; letters, digits, and single - and _ between words
// follow. Go keywords are allowed. initialisms are those of the project, see [Project].
func ParseName(text string, initialisms ...string) (Name, error) {
	err := check(text, "-_", maxTypedName)
	if err == nil && !separatedWords.MatchString(text) {
		err = errors.New("use a single - or _ between words, and none at the end")
	}
	if n := len(WireName(text)); err == nil && n > maxTypedName {
		err = fmt.Errorf("%d characters with _ between the words, at most %d are allowed; choose a shorter one", n, maxTypedName)
	}
	if err != nil {
		return Name{}, fmt.Errorf("invalid name %q: %w", Shorten(text), err)
	}
	name, err := newName(split(text), initialisms)
	words := strings.Split(joinWords(split(name.wire), "_", Capitalize), "_")
	for i, word := range words {
		words[i] = Capitalize(upper(strings.ToLower(word), initialisms))
		if WireName(strings.Join(words, "")) != name.wire {
			words[i] = word
		}
	}
	name.ident = strings.Join(words, "")
	return name, err
}

// ParseFieldName parses the name of a field, which is a JSON key. It starts with an ASCII letter;
// letters, digits and _ follow.
func ParseFieldName(text string, initialisms ...string) (Name, error) {
	if err := check(text, "_", maxFieldName); err != nil {
		return Name{}, fmt.Errorf("invalid field name %q: %w", Shorten(text), err)
	}
	return newName(split(text), initialisms)
}

// NameOfValue returns a name for an enum value, such as in-progress or "5 GHz". Characters other
// than ASCII letters and digits separate words. A leading digit gets the prefix n: 2xx is n2xx. It
// fails if the value has no letter or digit.
func NameOfValue(text string, initialisms ...string) (Name, error) {
	words := split(strings.Map(func(r rune) rune {
		if !IsLetter(r) && !IsDigit(r) {
			return '_'
		}
		return r
	}, text))
	if len(words) == 0 {
		return Name{}, fmt.Errorf("%q needs an ASCII letter or digit", Shorten(text))
	}
	if IsDigit(rune(words[0][0])) {
		words[0] = "n" + words[0]
	}
	return newName(words, initialisms)
}

// newName returns the name of words, or an error if it is not a Go identifier.
func newName(words, initialisms []string) (Name, error) {
	form := func(word string) string { return upper(word, initialisms) }
	name := Name{
		wire:  wireName(words),
		ident: joinWords(words, "", func(word string) string { return Capitalize(form(word)) }),
		human: joinWords(words, " ", form),
	}
	if !token.IsIdentifier(name.ident) || !token.IsExported(name.ident) {
		return Name{}, fmt.Errorf("%q is not a Go identifier; use ASCII letters", Shorten(name.wire))
	}
	return name, nil
}

// joinWords joins the forms of words, which it lower-cases first.
func joinWords(words []string, separator string, form func(word string) string) string {
	var all []string
	for _, word := range words {
		all = append(all, form(strings.ToLower(word)))
	}
	return strings.Join(all, separator)
}

// check validates a name of ASCII letters, digits and separators, which starts with a letter.
func check(text, separators string, maxLength int) error {
	if n := utf8.RuneCountInString(text); n > maxLength {
		return fmt.Errorf("%d characters, at most %d are allowed; choose a shorter one", n, maxLength)
	}
	for _, r := range text {
		if !IsLetter(r) && !IsDigit(r) && !strings.ContainsRune(separators, r) {
			return fmt.Errorf("%+q is not allowed; use only ASCII letters, digits, and %s", r, strings.Join(strings.Split(separators, ""), " or "))
		}
	}
	if text == "" || !IsLetter(rune(text[0])) {
		return errors.New("must start with a letter, as send_mail does")
	}
	return nil
}

// Shorten cuts a long text that a message quotes.
func Shorten(text string) string {
	const maxLength = 60
	if utf8.RuneCountInString(text) <= maxLength {
		return text
	}
	return string([]rune(text)[:maxLength]) + "…"
}

// IsLetter reports whether r is an ASCII letter.
func IsLetter(r rune) bool { return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' }

// IsDigit reports whether r is an ASCII digit.
func IsDigit(r rune) bool { return '0' <= r && r <= '9' }

// Maximum lengths of names in clients, with the prefixes that they add.
const (
	maxCallLength   = 64 // mcp__PROJECT__NAME, as Claude Code calls it
	maxCursorLength = 60 // Cursor counts the server's name and the tool's
)

// MaxNameLength returns the maximum length of a wire name in a project that all clients accept. It
// is 0 if the project's name is too long.
func MaxNameLength(project string) int {
	return max(0, min(maxCallLength-len("mcp__"+project+"__"), maxCursorLength-len(project)))
}

// CheckGeneratorName returns an error if some clients would reject the tool of a generator with
// this name on the dev server, whose name is petrock.
func CheckGeneratorName(name string) error { return CheckWireName("generate_"+name, "petrock") }

// CheckWireName returns an error if some clients would reject a wire name in a project. Names from
// [ParseName] can only be too long.
func CheckWireName(name, project string) error {
	refuse := func(format string, args ...any) error {
		return fmt.Errorf("clients reject the name %q: %s", Shorten(name), fmt.Sprintf(format, args...))
	}
	if err := check(name, "-_", len(name)); err != nil {
		return refuse("%v", err)
	}
	switch limit, n := MaxNameLength(project), len(name); {
	case limit == 0:
		return refuse("they prefix it with the project name %q, which is too long; choose a shorter project name", Shorten(project))
	case n > limit:
		return refuse("%d characters, at most %d are allowed after the server name %q; choose a shorter one", n, limit, Shorten(project))
	}
	return nil
}

// WireName returns the wire name of an exported Go identifier: send_mail for SendMail.
//
//   - A capital after a lower-case letter or a digit starts a word: V2Add is v2_add.
//   - The last of several capitals starts a word if a lower-case letter follows: HTTPServer is
//     http_server.
//   - Adjacent common initialisms are words: UserIDURL is user_id_url.
//   - The s of a plural belongs to a common initialism: GetURLs is get_urls.
//   - Digits belong to the word before them: SHA256Sum is sha256_sum.
//   - Underscores separate words.
//
// Every identifier has a wire name; [CheckWireName] reports whether clients accept it.
func WireName(ident string) string { return wireName(split(ident)) }

func wireName(words []string) string { return strings.ToLower(strings.Join(words, "_")) }

// split splits text into words, keeping their case. Characters other than letters and digits
// separate words.
func split(text string) (words []string) {
	for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		for _, word := range splitCase([]rune(part)) {
			adjacent, _ := splitInitialisms(word)
			words = append(words, adjacent...)
		}
	}
	return words
}

// splitCase splits letters and digits at changes of case.
func splitCase(part []rune) []string {
	var words []string
	start := 0
	cut := func(at int) {
		words = append(words, string(part[start:at]))
		start = at
	}
	for i := 1; i < len(part); i++ {
		switch before := unicode.IsUpper(part[i-1]); {
		case unicode.IsUpper(part[i]) && !before:
			cut(i)
		case unicode.IsLower(part[i]) && before && i-1 > start && !endsPlural(part, start, i):
			cut(i - 1)
		}
	}
	return append(words, string(part[start:]))
}

// endsPlural reports whether part[i] is the s of a plural such as URLs that starts at start.
func endsPlural(part []rune, start, i int) bool {
	ends := i+1 == len(part) || unicode.IsUpper(part[i+1])
	_, isInitialism := splitInitialisms(string(part[start:i]))
	return part[i] == 's' && ends && isInitialism
}

// splitInitialisms splits common initialisms in capitals, the last perhaps in the plural: HTTPAPIs
// is HTTP, APIs. It returns another word as it is, and false.
func splitInitialisms(word string) ([]string, bool) {
	isWhole := slices.Contains(commonInitialisms, strings.TrimSuffix(word, "s"))
	for i := 1; i < len(word) && !isWhole; i++ {
		if slices.Contains(commonInitialisms, word[:i]) {
			if rest, ok := splitInitialisms(word[i:]); ok {
				return append([]string{word[:i]}, rest...), true
			}
		}
	}
	return []string{word}, isWhole
}

// upper returns a lower-case word as Go writes it within a name: initialisms are in capitals, by
// convention or because the project has them.
func upper(word string, initialisms []string) string {
	for _, one := range []string{word, strings.TrimSuffix(word, "s")} {
		is := func(other string) bool { return strings.EqualFold(other, one) }
		if slices.ContainsFunc(commonInitialisms, is) || slices.ContainsFunc(initialisms, is) {
			return strings.ToUpper(one) + word[len(one):]
		}
	}
	return word
}

// commonInitialisms are written in capitals in the identifiers of new components and fields, and
// [WireName] splits them. English words such as ram and sip are left out. A project adds its own in
// petrock.json. WireName does not know these: a new initialism must not rename components.
var commonInitialisms = strings.Fields(`ACL AES AI AMQP API ASCII BIC CDN CHF CI CIDR CLI CORS CPU CRM CRUD
	CSS CSV DB DNS EAN EOF ETA EUR FAQ FTP GBP GID GIF GPS GPU GRPC GUID HMAC HTML HTTP HTTPS IBAN ID IMAP
	IP ISBN ISO ISSN JPEG JPG JPY JSON JWT KPI LLM LRU MCP MD5 MIME NFC OIDC OTP PDF PNG QPS QR RPC RSA RSS
	RTP SAML SDK SHA1 SHA256 SKU SLA SMS SMTP SQL SSE SSH SSO SVG TCP TLS TOTP TSV TTL TZ UDP UI UID URI URL
	USD UTC UTF8 UUID VAT VM VPN WASM XML XMPP XSRF XSS YAML`)

// Singular returns the singular of a noun in lower case, and false if it is unknown.
func Singular(plural string) (string, bool) {
	if one, ok := irregularPlurals[plural]; ok {
		return one, one != ""
	}
	if !regularPlural.MatchString(plural) {
		return "", false
	}
	if stem, ok := strings.CutSuffix(plural, "ies"); ok {
		return stem + "y", true
	}
	return pluralEnding.ReplaceAllString(plural, "$1"), true
}

// singularIdent returns an identifier with its last word in the singular, if that is known.
func singularIdent(ident string) string {
	words := split(ident)
	last := words[len(words)-1]
	one, ok := Singular(strings.ToLower(last))
	switch {
	case !ok:
		return ident
	case strings.HasPrefix(strings.ToLower(last), one): // keep the capitals of URLs
		return strings.TrimSuffix(ident, last[len(one):])
	}
	return strings.TrimSuffix(ident, last) + Capitalize(one)
}

var (
	regularPlural = regexp.MustCompile(`..[^suia]s$|eas$`) // address, status, analysis and canvas are singular
	pluralEnding  = regexp.MustCompile(`(ss|x|zz|ch|sh)es$|s$`)

	irregularPlurals = map[string]string{
		"people": "person", "children": "child", "movies": "movie", "cookies": "cookie", "statuses": "status", "aliases": "alias",
		"caches": "cache", "news": "", "series": "", "species": "", "analytics": "", "sales": "", "goods": "", "settings": "",
	}
)
